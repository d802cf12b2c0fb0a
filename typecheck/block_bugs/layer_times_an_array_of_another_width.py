"""A lambda scales three numbers by four."""

import numpy as np

import wengert.fold as td

# bug: block = td.Vector(2) >> td.FC(3) >> td.Function(lambda x: x * np.ones((4,), np.float32))
block = td.Vector(2) >> td.FC(3) >> td.Function(lambda x: x * np.ones((3,), np.float32))
print(block.output_type)
