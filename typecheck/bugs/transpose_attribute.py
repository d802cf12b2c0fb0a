"""A layer is transposed by its attribute T, as in numpy.

Source: written for this table.
"""

import numpy as np

import wengert as wg

x = wg.literal(np.ones((2, 3), np.float32), 2, 3)
# bug: print((x @ x.T).shape)
print((x @ wg.permute_dims(x, (1, 0))).shape)
