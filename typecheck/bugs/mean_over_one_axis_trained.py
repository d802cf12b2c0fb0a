"""The loss is reduced over the batch, and the axis of the outputs is left.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

w = SGD(learning_rate=0.1).array_weight(np.ones((4, 3), np.float32), 4, 3, name="w")
x = wg.literal(np.ones((8, 4), np.float32), Batch, 4)
wanted = wg.literal(np.zeros((8, 3), np.float32), Batch, 3)

# bug: loss = wg.mean(wg.square(x @ w - wanted), axis=0)
loss = wg.mean(wg.square(x @ w - wanted))
print(loss.train().run())  # shows
