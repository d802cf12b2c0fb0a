"""A number stands for None, where there would be a vector."""

import wengert.fold as td

# bug: block = td.Optional(td.Vector(2), 0.0)
block = td.Optional(td.Vector(2), td.Zeros(2))
print(block.output_type)
