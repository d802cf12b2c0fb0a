"""The state of a cell has its axes exchanged.

Source: PetrochukM/PyTorch-NLP#62, Input batch size doesn't match hidden[0] batch size.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import LSTMCell
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((2, 6), np.float32), Batch, 6)

cell = LSTMCell.make(settings, 6, 8, seed=0)
# bug: c = wg.literal(np.zeros((8, 2), np.float32), 8, Batch)
c = wg.literal(np.zeros((2, 8), np.float32), Batch, 8)
h = wg.literal(np.zeros((2, 8), np.float32), Batch, 8)
print(cell(x, (h, c))[0].shape)  # shows
