"""A lambda that has a name is used for vectors of two sizes, and one does not fit."""

import wengert as wg
import wengert.fold as td

halves = td.Function(lambda x: wg.reshape(x, (2, 2)))
# bug: block = td.Vector(6) >> halves
block = td.Vector(4) >> halves
print(block.output_type)
