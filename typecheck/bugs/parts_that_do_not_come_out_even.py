"""100 numbers are split into 8 heads.

Source: written for this table.
"""

import numpy as np

import wengert as wg

x = wg.literal(np.ones((4, 100), np.float32), 4, 100)
# bug: heads = wg.split(x, 8, axis=1)
heads = wg.split(x, 5, axis=1)
print(heads[0].shape)
