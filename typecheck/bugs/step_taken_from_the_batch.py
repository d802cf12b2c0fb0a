"""A loop over time takes the t-th sequence instead of the t-th step of all of them.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Time = NewType("Time", int)

chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)
w = settings.array_weight(chance.standard_normal((16, 16), np.float32), 16, 16, name="w")
xs = wg.literal(chance.standard_normal((5, 4, 16), np.float32), Batch, Time, 16)
h = wg.literal(np.zeros((5, 16), np.float32), Batch, 16)

for t in range(4):
    # bug: h = wg.tanh(xs[t] + h @ w)
    h = wg.tanh(xs[:, t] + h @ w)
print(h.shape)
