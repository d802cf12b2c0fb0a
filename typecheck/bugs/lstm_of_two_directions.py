"""The classifier after both directions of an LSTM is as wide as one.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)


def drawn(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return chance.standard_normal(shape, np.float32)


forth = nn.LSTMCell.make(settings, 16, 32, seed=0)
back = nn.LSTMCell.make(settings, 16, 32, seed=1)
# bug: head = nn.Linear.make(settings, 32, 5, seed=2)
head = nn.Linear.make(settings, 64, 5, seed=2)


def scores(
    x: wg.ArrayLayer[tuple[Batch, Literal[16]]], h: wg.ArrayLayer[tuple[Batch, Literal[32]]]
) -> wg.ArrayLayer[tuple[Batch, Literal[5]]]:
    one, _ = forth(x, (h, h))
    two, _ = back(x, (h, h))
    return head(wg.concat([one, two], axis=-1))  # shows


print(scores(wg.literal(drawn(2, 16), Batch, 16), wg.literal(drawn(2, 32), Batch, 32)).shape)
