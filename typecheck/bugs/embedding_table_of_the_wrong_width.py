"""Word vectors of 300 numbers go into a layer for 128.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Time = NewType("Time", int)
Ids = np.ndarray[tuple[Batch, Time], np.dtype[np.int64]]

chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)
# bug: table = settings.array_weight(chance.standard_normal((1000, 300), np.float32), 1000, 300)
table = settings.array_weight(chance.standard_normal((1000, 128), np.float32), 1000, 128)
w = settings.array_weight(chance.standard_normal((128, 2), np.float32), 128, 2, name="w")


def tags(ids: Ids) -> wg.ArrayLayer[tuple[Batch, Time, Literal[2]]]:
    return wg.take(table, ids) @ w  # shows


ids: Ids = np.array([[3, 14, 159]], np.int64)
print(tags(ids).shape)
