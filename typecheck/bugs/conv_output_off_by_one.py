"""A convolution without padding is thought to keep 28 pixels; it leaves 26.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Images = wg.ArrayLayer[tuple[Batch, Literal[1], Literal[28], Literal[28]]]

chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)
kernel = settings.array_weight(chance.standard_normal((8, 1, 3, 3), np.float32), 8, 1, 3, 3)
# bug: head = settings.array_weight(np.ones((6272, 10), np.float32), 6272, 10)
head = settings.array_weight(np.ones((5408, 10), np.float32), 5408, 10)


def logits(x: Images) -> wg.ArrayLayer[tuple[Batch, Literal[10]]]:
    h = wg.relu(wg.conv2d(x, kernel))
    return wg.reshape(h, (h.shape[0], -1)) @ head  # shows


print(logits(wg.literal(chance.random((2, 1, 28, 28), np.float32), Batch, 1, 28, 28)).shape)
