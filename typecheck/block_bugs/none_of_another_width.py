"""What stands for None has another size."""

import wengert.fold as td

# bug: block = td.Optional(td.Vector(2), td.Zeros(3))
block = td.Optional(td.Vector(2), td.Zeros(2))
print(block.output_type)
