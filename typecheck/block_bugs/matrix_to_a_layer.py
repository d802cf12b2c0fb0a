"""A fully connected layer reads a matrix."""

import wengert.fold as td

# bug: block = td.Tensor((2, 2)) >> td.FC(2)
block = td.Tensor((4,)) >> td.FC(2)
print(block.output_type)
