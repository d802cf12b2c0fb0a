"""The first state of a GRU has the width of its inputs.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import GRU, GRUCell
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Time = NewType("Time", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((5, 2, 8), np.float32), Time, Batch, 8)

gru = GRU(GRUCell.make(settings, 8, 16, seed=0))
# bug: h = wg.literal(np.zeros((2, 8), np.float32), Batch, 8)
h = wg.literal(np.zeros((2, 16), np.float32), Batch, 16)
print(gru(x, h)[0].shape)  # shows
