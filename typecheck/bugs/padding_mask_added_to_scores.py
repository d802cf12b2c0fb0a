"""A mask of (batch, time) is added to scores of every head and query.

Source: idiap/fast-transformers#101, Mask and QK not of the same shape ?.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Time = NewType("Time", int)
scores = wg.literal(np.ones((2, 4, 5, 5), np.float32), Batch, 4, Time, Time)
padding = wg.literal(np.zeros((2, 5), np.float32), Batch, Time)
# bug: print((scores + padding).shape)
print((scores + padding[:, None, None, :]).shape)
