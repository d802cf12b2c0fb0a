"""The hidden size was raised from 64 to 128 where it goes out, and not where it comes in.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

settings = SGD(learning_rate=0.1)
chance = np.random.default_rng(0)
w1 = settings.array_weight(chance.standard_normal((784, 128), np.float32), 784, 128, name="w1")
# bug: w2 = settings.array_weight(chance.standard_normal((64, 10), np.float32), 64, 10, name="w2")
w2 = settings.array_weight(chance.standard_normal((128, 10), np.float32), 128, 10, name="w2")


def logits(x: wg.ArrayLayer[tuple[Batch, Literal[784]]]) -> wg.ArrayLayer[tuple[Batch, Literal[10]]]:
    return wg.relu(x @ w1) @ w2  # shows


print(logits(wg.literal(chance.random((32, 784), np.float32), Batch, 784)).shape)
