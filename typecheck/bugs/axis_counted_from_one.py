"""The axes of a matrix are counted from 1.

Source: written for this table.
"""

import numpy as np

import wengert as wg

x = wg.literal(np.random.default_rng(0).random((8, 3), np.float32), 8, 3)
# bug: print(wg.mean(x, axis=2).shape)
print(wg.mean(x, axis=1).shape)
