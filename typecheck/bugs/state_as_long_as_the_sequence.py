"""The state of a cell is made for the length of the sequence, not for the batch.

Source: patrickloeber/pytorch-examples#2, Expected hidden size (1, 4, 128), got [1, 28, 128].
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import GRUCell
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((2, 28), np.float32), Batch, 28)

Time = NewType("Time", int)
cell = GRUCell.make(settings, 28, 8, seed=0)
# bug: h = wg.literal(np.zeros((5, 8), np.float32), Time, 8)
h = wg.literal(np.zeros((2, 8), np.float32), Batch, 8)
print(cell(x, h).shape)  # shows
