"""The mask of each sentence lacks the axis of heads that the scores have.

Source: hyunwoongko/transformer#32, Could this lead to a bug due to dimension mismatch?.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Time = NewType("Time", int)
scores = wg.literal(np.ones((2, 4, 5, 5), np.float32), Batch, 4, Time, Time)
mask = wg.literal(np.ones((2, 5, 5), np.float32), Batch, Time, Time)
# bug: allowed = wg.greater(mask, 0.0)
allowed = wg.greater(wg.expand_dims(mask, axis=1), 0.0)
print(wg.where(allowed, scores, -1e9).shape)  # shows
