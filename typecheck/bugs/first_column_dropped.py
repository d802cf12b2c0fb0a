"""The column of identities is dropped from the data, and the first layer still has room for it.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)
# bug: w = settings.array_weight(chance.standard_normal((14, 1), np.float32), 14, 1, name="w")
w = settings.array_weight(chance.standard_normal((13, 1), np.float32), 13, 1, name="w")
table = wg.literal(chance.standard_normal((20, 14), np.float32), Batch, 14)
features = table[:, 1:]
print((features @ w).shape)  # shows
