"""The blocks of lists sum the elements of a list, not those of a vector."""

import wengert as wg
import wengert.fold as td

# bug: block = td.Vector(2) >> td.Sum()
block = td.Vector(2) >> td.Function(wg.sum)
print(block.output_type)
