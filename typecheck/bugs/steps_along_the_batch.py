"""The steps of a sequence are taken along the batch, which is the first axis.

Source: AndersonJo/dqn-pytorch#1, Missing batch_first attribute for LSTM model.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.nn import GRUCell
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
Time = NewType("Time", int)
State = wg.ArrayLayer[tuple[Batch, Literal[8]]]
cell = GRUCell.make(settings, 6, 8, seed=0)
xs = wg.literal(np.ones((2, 5, 6), np.float32), Batch, Time, 6)
h: State = wg.literal(np.zeros((2, 8), np.float32), Batch, 8)
for t in range(2):
    # bug: h = cell(xs[t], h)
    h = cell(xs[:, t], h)
print(h.shape)
