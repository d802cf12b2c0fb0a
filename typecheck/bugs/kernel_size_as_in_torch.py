"""The size of a window is called kernel_size, as in PyTorch.

Source: written for this table.
"""

import numpy as np

import wengert as wg

x = wg.literal(np.ones((2, 3, 8, 8), np.float32), 2, 3, 8, 8)
# bug: print(wg.max_pool2d(x, kernel_size=2).shape)
print(wg.max_pool2d(x, 2).shape)
