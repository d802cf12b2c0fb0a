"""The vectors of a pair have two sizes, and `add` takes both."""

import wengert as wg
import wengert.fold as td

# bug: block = (td.Vector(2), td.Vector(3)) >> td.Function(wg.add)
block = (td.Vector(2), td.Vector(2)) >> td.Function(wg.add)
print(block.output_type)
