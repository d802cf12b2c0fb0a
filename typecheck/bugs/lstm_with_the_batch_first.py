"""The batch is the first axis, and the LSTM takes it for time.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.nn import LSTM, LSTMCell
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Time = NewType("Time", int)
settings = SGD(learning_rate=0.1)

x = wg.literal(np.ones((2, 5, 8), np.float32), Batch, Time, 8)
lstm = LSTM(LSTMCell.make(settings, 8, 16, seed=0))
# bug: y, _ = lstm(x)
y, _ = lstm(wg.permute_dims(x, (1, 0, 2)))
last: wg.ArrayLayer[tuple[Batch, Literal[16]]] = y[-1]  # shows
print(last.shape)
