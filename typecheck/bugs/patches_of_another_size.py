"""The projection of patches belongs to patches of 8, the image is cut into patches of 16.

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


# bug: project = nn.Linear.make(settings, 3 * 8 * 8, 64, seed=0)
project = nn.Linear.make(settings, 3 * 16 * 16, 64, seed=0)


def tokens(
    x: wg.ArrayLayer[tuple[Batch, Literal[3], Literal[32], Literal[32]]],
) -> wg.ArrayLayer[tuple[Batch, Literal[4], Literal[64]]]:
    cut = wg.permute_dims(wg.reshape(x, (x.shape[0], 3, 2, 16, 2, 16)), (0, 2, 4, 1, 3, 5))
    return project(wg.reshape(cut, (x.shape[0], 4, 768)))  # shows


print(tokens(wg.literal(drawn(2, 3, 32, 32), Batch, 3, 32, 32)).shape)
