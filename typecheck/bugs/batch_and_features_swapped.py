"""The measurements come with one column an example, and are used as if it were one row.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

settings = SGD(learning_rate=0.1)
w = settings.array_weight(np.ones((13, 1), np.float32), 13, 1, name="w")


def prices(x: wg.ArrayLayer[tuple[Batch, Literal[13]]]) -> wg.ArrayLayer[tuple[Batch, Literal[1]]]:
    return x @ w


columns = wg.literal(np.ones((13, 506), np.float32), 13, Batch)
# bug: print(prices(columns).shape)
print(prices(wg.permute_dims(columns, (1, 0))).shape)
