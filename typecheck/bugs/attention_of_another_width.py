"""Attention over 512 numbers is given words of 300.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
import wengert.nn as nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Time = NewType("Time", int)

attention = nn.MultiHeadAttention.make(SGD(learning_rate=0.1), 512, 8, seed=0)
# bug: words = wg.literal(np.ones((2, 5, 300), np.float32), Batch, Time, 300)
words = wg.literal(np.ones((2, 5, 512), np.float32), Batch, Time, 512)
print(attention(words).shape)  # shows
