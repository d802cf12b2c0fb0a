"""A cell is given a state that has an axis of layers, as a whole network has.

Source: pytorch/pytorch#3925, Expected hidden[0] size (1, 64, 256), got (64, 256).
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import GRUCell
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((2, 6), np.float32), Batch, 6)

cell = GRUCell.make(settings, 6, 8, seed=0)
# bug: h = wg.literal(np.zeros((1, 2, 8), np.float32), 1, Batch, 8)
h = wg.literal(np.zeros((2, 8), np.float32), Batch, 8)
print(cell(x, h).shape)  # shows
