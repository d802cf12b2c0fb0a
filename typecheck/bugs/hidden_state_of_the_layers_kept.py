"""The state keeps the axis of layers of torch.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)


def drawn(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return chance.standard_normal(shape, np.float32)


cell = nn.LSTMCell.make(settings, 10, 20, seed=0)
x = wg.literal(drawn(3, 10), Batch, 10)
# bug: h = wg.literal(drawn(1, 3, 20), 1, Batch, 20)
h = wg.literal(drawn(3, 20), Batch, 20)
print(cell(x, (h, h))[0].shape)  # shows
