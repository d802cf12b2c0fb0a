"""Five heads do not divide 64 features.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Time = NewType("Time", int)
chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)


def drawn(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return chance.standard_normal(shape, np.float32)


# bug: attention = nn.MultiHeadAttention.make(settings, 64, 5, seed=0)
attention = nn.MultiHeadAttention.make(settings, 64, 4, seed=0)
x = wg.literal(drawn(2, 7, 64), Batch, Time, 64)
print(attention(x, x, x).shape)
