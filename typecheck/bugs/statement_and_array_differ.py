"""The array is drawn with its axes in the other order than the shape that is stated for it.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)
# bug: w = settings.array_weight(chance.standard_normal((10, 64), np.float32), 64, 10, name="w")
w = settings.array_weight(chance.standard_normal((64, 10), np.float32), 64, 10, name="w")
x = wg.literal(chance.random((32, 64), np.float32), Batch, 64)
print((x @ w).shape)
