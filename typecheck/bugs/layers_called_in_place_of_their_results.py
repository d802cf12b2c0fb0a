"""A function that returns the layer is handed over where its result is wanted.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
first = nn.Linear.make(settings, 8, 4, seed=0)
second = nn.Linear.make(settings, 4, 2, seed=1)


def answers(x: wg.ArrayLayer[tuple[Batch, Literal[8]]]) -> wg.ArrayLayer[tuple[Batch, Literal[2]]]:
    # bug: return second(wg.relu(first))
    return second(wg.relu(first(x)))


print(answers(wg.literal(np.ones((2, 8), np.float32), Batch, 8)).shape)
