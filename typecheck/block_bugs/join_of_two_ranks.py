"""A number and a matrix are joined."""

import wengert.fold as td

# bug: block = (td.Scalar(), td.Tensor((2, 2))) >> td.Concat()
block = (td.Scalar(), td.Tensor((2,))) >> td.Concat()
print(block.output_type)
