"""The second layer expects 256 inputs, and the first one gives 128.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
import wengert.nn as nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)

settings = SGD(learning_rate=0.1)
first = nn.Linear.make(settings, 784, 128, seed=0, name="first")
# bug: second = nn.Linear.make(settings, 256, 10, seed=1, name="second")
second = nn.Linear.make(settings, 128, 10, seed=1, name="second")


def logits(x: wg.ArrayLayer[tuple[Batch, Literal[784]]]) -> wg.ArrayLayer[tuple[Batch, Literal[10]]]:
    return second(wg.relu(first(x)))  # shows


print(logits(wg.literal(np.ones((4, 784), np.float32), Batch, 784)).shape)
