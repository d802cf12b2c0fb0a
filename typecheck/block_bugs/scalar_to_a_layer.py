"""A fully connected layer reads a number."""

import wengert.fold as td

# bug: block = td.Scalar() >> td.FC(2)
block = td.Vector(1) >> td.FC(2)
print(block.output_type)
