"""Attention is normalized along the queries instead of the keys.

Source: karpathy/minGPT#132, Strange model behavior when taking the softmax in the wrong dimension.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Time = NewType("Time", int)
scores = wg.literal(np.ones((2, 4, 5, 5), np.float32), Batch, 4, Time, Time)
values = wg.literal(np.ones((2, 4, 5, 8), np.float32), Batch, 4, Time, 8)
# bug: weights = wg.softmax(scores, axis=-2)
weights = wg.softmax(scores, axis=-1)
print((weights @ values).shape)
