"""A double weight scales an array of float32.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones(3, np.float32), 3)
# bug: scale = settings.double_weight(2.0)
scale = settings.float_weight(2.0)
print(wg.sum(x * scale).train().run())  # shows
