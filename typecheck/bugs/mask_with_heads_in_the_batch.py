"""A mask that folds the heads into the batch meets scores that keep them apart.

Source: pytorch/pytorch#64706, Forcing 3D attn_mask to have wrong shape in MultiHeadAttention.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import MultiHeadAttention
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
Time = NewType("Time", int)
x = wg.literal(np.ones((2, 5, 32), np.float32), Batch, Time, 32)
attention = MultiHeadAttention.make(settings, 32, 4, seed=0)
# bug: mask = wg.literal(np.ones((8, 5, 5), np.float32), 8, Time, Time)
mask = wg.literal(np.ones((2, 1, 5, 5), np.float32), Batch, 1, Time, Time)
print(attention(x, mask=wg.greater(mask, 0.0)).shape)  # shows
