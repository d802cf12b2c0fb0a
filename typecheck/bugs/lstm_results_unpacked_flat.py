"""The three results of an LSTM are unpacked as if they were no pair in a pair.

Source: NVIDIA-NeMo/Speech#1634, Incorrect usage of nn.LSTM in NeMo Models Tutorial.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import LSTM, LSTMCell
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Time = NewType("Time", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((5, 2, 8), np.float32), Time, Batch, 8)

lstm = LSTM(LSTMCell.make(settings, 8, 16, seed=0))
# bug: y, h, c = lstm(x)
y, (h, c) = lstm(x)
print(h.shape)
