"""numpy's dot is called with a weight on the right.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).array_weight(np.ones((3, 2), np.float32), 3, 2, name="w")
x = np.ones((4, 3), np.float32)
# bug: y = np.dot(x, w)
y = wg.matmul(x, w)
print(y.shape)
