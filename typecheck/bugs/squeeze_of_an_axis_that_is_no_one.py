"""The batch is squeezed away, which had one example while it was tried.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).array_weight(np.ones((4, 1), np.float32), 4, 1, name="w")
x = wg.literal(np.ones((8, 4), np.float32), 8, 4)

# bug: y = wg.squeeze(x @ w, axis=0)
y = wg.squeeze(x @ w, axis=1)
print(y.shape)
