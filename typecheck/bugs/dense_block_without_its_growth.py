"""A dense block declares the width that it gets, and gives 32 more.

Source: written for this table.
"""

from typing import Literal, TypeVar

import numpy as np

import wengert as wg
from wengert.dims import Add
from wengert.plugins import SGD

Batch = TypeVar("Batch", bound=int)
Width = TypeVar("Width", bound=int)


def dense_block(
    x: wg.ArrayLayer[tuple[Batch, Width]], w: wg.ArrayWeight[tuple[Width, Literal[32]]]
) -> wg.ArrayLayer[tuple[Batch, Add[Width, Literal[32]]]]:
    return wg.concat([x, wg.relu(x @ w)], axis=1)


settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((4, 64), np.float32), 4, 64)
first = settings.array_weight(np.ones((64, 32), np.float32), 64, 32)
# bug: second = settings.array_weight(np.ones((64, 32), np.float32), 64, 32)
second = settings.array_weight(np.ones((96, 32), np.float32), 96, 32)
print(dense_block(dense_block(x, first), second).shape)  # shows
