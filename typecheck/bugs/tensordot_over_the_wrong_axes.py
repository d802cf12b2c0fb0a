"""tensordot contracts two axes unless it is told otherwise.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).array_weight(np.ones((64, 10), np.float32), 64, 10)
x = wg.literal(np.ones((2, 5, 64), np.float32), 2, 5, 64)
# bug: print(wg.tensordot(x, w).shape)
print(wg.tensordot(x, w, axes=1).shape)
