"""The axis is called dim, as in PyTorch.

Source: written for this table.
"""

import numpy as np

import wengert as wg

x = wg.literal(np.ones((2, 3), np.float32), 2, 3)
# bug: print(wg.softmax(x, dim=1).shape)
print(wg.softmax(x, axis=1).shape)
