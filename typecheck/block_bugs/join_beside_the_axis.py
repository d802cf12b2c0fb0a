"""Matrices of two widths are joined along their rows."""

import wengert.fold as td

# bug: block = (td.Tensor((2, 3)), td.Tensor((2, 4))) >> td.Concat()
block = (td.Tensor((2, 3)), td.Tensor((2, 4))) >> td.Concat(1)
print(block.output_type)
