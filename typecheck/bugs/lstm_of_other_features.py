"""The memory is made for 8 features and is given 9.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import LSTM, LSTMCell
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Time = NewType("Time", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((5, 2, 9), np.float32), Time, Batch, 9)

# bug: lstm = LSTM(LSTMCell.make(settings, 8, 16, seed=0))
lstm = LSTM(LSTMCell.make(settings, 9, 16, seed=0))
print(lstm(x)[0].shape)  # shows
