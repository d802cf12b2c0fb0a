"""A vector is split into value and gate along the batch, which is the default axis.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Rows = wg.ArrayLayer[tuple[Batch, Literal[32]]]


def gated(x: wg.ArrayLayer[tuple[Batch, Literal[64]]]) -> Rows:
    # bug: a, b = wg.split(x, 2)
    a, b = wg.split(x, 2, axis=1)
    return a * wg.sigmoid(b)  # shows


print(gated(wg.literal(np.ones((4, 64), np.float32), Batch, 64)).shape)
