"""The value of the action that was taken keeps a column, and the target of the loss has none.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
network = nn.Linear.make(settings, 8, 5, seed=0)
states = wg.literal(np.ones((4, 8), np.float32), Batch, 8)
target = wg.literal(np.ones(4, np.float32), Batch)
actions: np.ndarray[tuple[int], np.dtype[np.int64]] = np.zeros(4, np.int64)

taken = wg.take_along_axis(network(states), actions[:, None], axis=1)
# bug: print(wg.mse_loss(taken, target).predict().run())
print(wg.mse_loss(wg.squeeze(taken, axis=1), target).predict().run())
