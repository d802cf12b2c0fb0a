"""An LSTM became a GRU, and its first state is still a pair.

Source: OpenNMT/OpenNMT-py#126, Fix GRU - hidden state changed from tuple to tensor.
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

h = wg.literal(np.zeros((2, 16), np.float32), Batch, 16)
gru = GRU(GRUCell.make(settings, 8, 16, seed=0))
# bug: print(gru(x, (h, h))[0].shape)
print(gru(x, h)[0].shape)
