"""Predictions of shape (n, 1) minus targets of shape (n,): numpy makes n squared differences of them.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

chance = np.random.default_rng(0)
w = SGD(learning_rate=0.01).array_weight(chance.standard_normal((4, 1), np.float32), 4, 1, name="w")
x = wg.literal(chance.standard_normal((64, 4), np.float32), Batch, 4)
targets = wg.literal(chance.standard_normal(64, np.float32), Batch)

# bug: predictions = x @ w
predictions = wg.squeeze(x @ w, axis=1)
loss = wg.mean(wg.square(predictions - targets))  # shows
print(loss.train().run())
