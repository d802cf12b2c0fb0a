"""A fully connected layer reads a pair that nothing has joined."""

import wengert.fold as td

# bug: block = (td.Vector(2), td.Vector(2)) >> td.FC(3)
block = (td.Vector(2), td.Vector(2)) >> td.Concat() >> td.FC(3)
print(block.output_type)
