"""A mask of (batch, time) meets scores of (batch, heads, time, time) without axes for heads and queries.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Time = NewType("Time", int)

chance = np.random.default_rng(0)
scores = wg.literal(chance.standard_normal((2, 8, 6, 6), np.float32), Batch, 8, Time, Time)
present = wg.literal(np.ones((2, 6), np.float32), Batch, Time)

# bug: mask = wg.greater(present, 0.0)
mask = wg.greater(wg.expand_dims(present, axis=(1, 2)), 0.0)
print(wg.softmax(wg.where(mask, scores, -1e9)).shape)  # shows
