"""A lambda multiplies by a matrix with four rows, and the vector has three numbers."""

import numpy as np

import wengert as wg
import wengert.fold as td

# bug: block = td.Vector(3) >> td.Function(lambda x: wg.matmul(x, np.ones((4, 2), np.float32)))
block = td.Vector(3) >> td.Function(lambda x: wg.matmul(x, np.ones((3, 2), np.float32)))
print(block.output_type)
