"""The memory of the segment before is joined to the keys along the batch.

Source: https://github.com/kimiyoung/transformer-xl.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
Model = wg.ArrayLayer[tuple[Batch, Literal[12], Literal[32]]]
Memory = wg.ArrayLayer[tuple[Batch, Literal[20], Literal[32]]]


def scores(h: Model, memory: Memory) -> wg.ArrayLayer[tuple[Batch, Literal[12], Literal[32]]]:
    # bug: keys = wg.concat([memory, h], axis=0)
    keys = wg.concat([memory, h], axis=1)
    return h @ wg.permute_dims(keys, (0, 2, 1))


now, before = np.ones((2, 12, 32), np.float32), np.ones((2, 20, 32), np.float32)
print(scores(wg.literal(now, Batch, 12, 32), wg.literal(before, Batch, 20, 32)).shape)
