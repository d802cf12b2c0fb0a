"""What has been read as a number is read as a vector."""

import wengert.fold as td

# bug: block = td.Scalar() >> td.Vector(2)
block = td.GetItem(0) >> td.Vector(2)
print(block.output_type)
