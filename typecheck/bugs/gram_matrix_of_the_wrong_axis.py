"""Similarities of features where similarities of examples are wanted.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)


def similarities(x: wg.ArrayLayer[tuple[Batch, Literal[16]]]) -> wg.ArrayLayer[tuple[Batch, Batch]]:
    # bug: return wg.permute_dims(x, (1, 0)) @ x
    return x @ wg.permute_dims(x, (1, 0))


print(similarities(wg.literal(np.ones((4, 16), np.float32), Batch, 16)).shape)
