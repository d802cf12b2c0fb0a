"""`matmul` of a vector and a matrix with another number of rows."""

import wengert as wg
import wengert.fold as td

# bug: block = (td.Vector(2), td.Tensor((3, 2))) >> td.Function(wg.matmul)
block = (td.Vector(3), td.Tensor((3, 2))) >> td.Function(wg.matmul)
print(block.output_type)
