"""Vectors are joined along a second axis."""

import wengert.fold as td

# bug: block = (td.Vector(2), td.Vector(2)) >> td.Concat(1)
block = (td.Vector(2), td.Vector(2)) >> td.Concat(0)
print(block.output_type)
