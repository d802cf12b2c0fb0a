"""The embedding table also makes the scores, and is used there as it is.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Words = NewType("Words", int)

chance = np.random.default_rng(0)
table = SGD(learning_rate=0.1).array_weight(chance.standard_normal((1000, 64), np.float32), 1000, 64)


def scores(h: wg.ArrayLayer[tuple[Words, Literal[64]]]) -> wg.ArrayLayer[tuple[Words, Literal[1000]]]:
    # bug: return h @ table
    return h @ wg.permute_dims(table, (1, 0))


print(scores(wg.literal(chance.random((5, 64), np.float32), Words, 64)).shape)
