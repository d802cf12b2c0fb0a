"""A residual connection around a layer that narrows.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)
# bug: w = settings.array_weight(chance.standard_normal((256, 128), np.float32), 256, 128, name="w")
w = settings.array_weight(chance.standard_normal((256, 256), np.float32), 256, 256, name="w")
x = wg.literal(chance.standard_normal((8, 256), np.float32), Batch, 256)

y = x + wg.relu(x @ w)  # shows
print(y.shape)
