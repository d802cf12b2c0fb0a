"""A lambda sums over the second axis of a vector."""

import wengert as wg
import wengert.fold as td

# bug: block = td.Vector(6) >> td.Function(lambda x: wg.sum(x, axis=1))
block = td.Vector(6) >> td.Function(lambda x: wg.sum(x, axis=0))
print(block.output_type)
