"""The number of heads and the width of one stand in each other's place.

Source: written for this table.
"""

from typing import Literal, TypeVar

import numpy as np

import wengert as wg
from wengert.dims import Mul

Batch = TypeVar("Batch", bound=int)
Time = TypeVar("Time", bound=int)
Heads = TypeVar("Heads", bound=int)


def split(
    x: wg.ArrayLayer[tuple[Batch, Time, Mul[Heads, Literal[64]]]], heads: Heads
) -> wg.ArrayLayer[tuple[Batch, Heads, Time, Literal[64]]]:
    b, t, _ = x.shape
    # bug: return wg.permute_dims(wg.reshape(x, (b, t, 64, heads)), (0, 2, 1, 3))
    return wg.permute_dims(wg.reshape(x, (b, t, heads, 64)), (0, 2, 1, 3))


x = wg.literal(np.random.default_rng(0).standard_normal((2, 6, 512), np.float32), 2, 6, 512)
print(split(x, 8).shape)
