"""Keys and values of an attention come from two sequences.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import MultiHeadAttention
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)

attend = MultiHeadAttention.make(settings, 8, 2, seed=0)
q = wg.literal(np.ones((2, 4, 8), np.float32), Batch, 4, 8)
k = wg.literal(np.ones((2, 6, 8), np.float32), Batch, 6, 8)
v = wg.literal(np.ones((2, 7, 8), np.float32), Batch, 7, 8)
# bug: print(attend(q, k, v).shape)
print(attend(q, k, k).shape)
