"""Distances to a codebook are computed with its axes exchanged.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
codebook = settings.array_weight(np.zeros((512, 64), np.float32), 512, 64, name="codebook")


def nearest(z: wg.ArrayLayer[tuple[Batch, Literal[64]]]) -> wg.Indices:
    # bug: cross = z @ codebook
    cross = z @ wg.permute_dims(codebook, (1, 0))
    return wg.argmax(2.0 * cross - wg.sum(wg.square(codebook), axis=1), axis=1)


print(nearest(wg.literal(np.ones((2, 64), np.float32), Batch, 64)).shape)
