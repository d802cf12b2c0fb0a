"""What two directions give is joined, and the next layer expects one of them.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import GRU, GRUCell, Linear
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Time = NewType("Time", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((5, 2, 8), np.float32), Time, Batch, 8)

there = GRU(GRUCell.make(settings, 8, 16, seed=0))
back = GRU(GRUCell.make(settings, 8, 16, seed=1))
joined = wg.concat([there(x)[0], wg.flip(back(wg.flip(x, axis=0))[0], axis=0)], axis=-1)
# bug: print(Linear.make(settings, 16, 2, seed=2)(joined).shape)
print(Linear.make(settings, 32, 2, seed=2)(joined).shape)
