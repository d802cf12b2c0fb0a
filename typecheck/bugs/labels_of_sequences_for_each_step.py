"""There is a label for each sequence, and an answer for each step.

Source: written for this table.
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
labels: np.ndarray[tuple[int], np.dtype[np.int64]] = np.array([0, 1])
y, (h, _) = lstm(x)
# bug: print(wg.cross_entropy(head(y), labels).predict().run())
print(wg.cross_entropy(head(h), labels).predict().run())
