"""A head counts the places of an image that is pooled once more than it is.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
conv = nn.Conv2d.make(settings, 1, 8, 3, padding="same", seed=0)
# bug: head = nn.Linear.make(settings, 8 * 7 * 7, 10, seed=1)
head = nn.Linear.make(settings, 8 * 14 * 14, 10, seed=1)


def answers(
    x: wg.ArrayLayer[tuple[Batch, Literal[1], Literal[28], Literal[28]]],
) -> wg.ArrayLayer[tuple[Batch, Literal[10]]]:
    h = wg.max_pool2d(wg.relu(conv(x)), 2)
    return head(wg.reshape(h, (x.shape[0], -1)))  # shows


print(answers(wg.literal(np.ones((2, 1, 28, 28), np.float32), Batch, 1, 28, 28)).shape)
