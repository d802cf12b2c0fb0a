"""A table made by numpy is one of doubles, and a layer has floats.

Source: pytorch/pytorch#15436, Type Conversions.
"""

import numpy as np

from wengert.nn import Linear
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)

layer = Linear.make(settings, 10, 2, seed=0)
table: np.ndarray[tuple[int, int], np.dtype[np.float64]] = np.ones((4, 10))
# bug: print(layer(table).shape)
print(layer(table.astype(np.float32)).shape)
