"""The parts of a tuple that is summed have two sizes."""

import wengert.fold as td

# bug: block = (td.Vector(2), td.Vector(3)) >> td.Sum()
block = (td.Vector(2), td.Vector(2)) >> td.Sum()
print(block.output_type)
