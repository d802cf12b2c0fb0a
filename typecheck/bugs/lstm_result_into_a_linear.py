"""All that an LSTM gives goes into the next layer, as in a Sequential.

Source: pytorch/pytorch#3349, Sequential does not allow muti-output modules such as RNN, LSTM.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import LSTM, Linear, LSTMCell
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Time = NewType("Time", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((5, 2, 8), np.float32), Time, Batch, 8)

lstm = LSTM(LSTMCell.make(settings, 8, 16, seed=0))
head = Linear.make(settings, 16, 2, seed=1)
# bug: print(head(lstm(x)).shape)
print(head(lstm(x)[0]).shape)
