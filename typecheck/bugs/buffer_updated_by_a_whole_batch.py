"""A running mean is moved towards the whole batch, not to its mean.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
w = settings.array_weight(np.ones((3, 2), np.float32), 3, 2)
x = wg.literal(np.ones((4, 3), np.float32), Batch, 3)
answers = x @ w
loss = wg.mean(wg.square(answers))

seen = settings.buffer(np.zeros(3, np.float32), 3)
# bug: x = wg.with_update(x, seen, x, rate=0.1)
x = wg.with_update(x, seen, wg.mean(x, axis=0), rate=0.1)
print(wg.sum(x).train().run())
