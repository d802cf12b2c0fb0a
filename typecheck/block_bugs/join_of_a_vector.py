"""One vector is joined."""

import wengert.fold as td

# bug: block = td.Vector(2) >> td.Concat()
block = (td.Vector(2), td.Vector(3)) >> td.Concat()
print(block.output_type)
