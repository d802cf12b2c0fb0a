"""A cell gives its output and its memory, and both go on as one.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
import wengert.nn as nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)

settings = SGD(learning_rate=0.1)
cell = nn.LSTMCell.make(settings, 16, 32, seed=0)
head = nn.Linear.make(settings, 32, 2, seed=1)


def scores(x: wg.ArrayLayer[tuple[Batch, Literal[16]]]) -> wg.ArrayLayer[tuple[Batch, Literal[2]]]:
    # bug: h = cell(x)
    h, _ = cell(x)
    return head(h)  # shows


print(scores(wg.literal(np.ones((4, 16), np.float32), Batch, 16)).shape)
