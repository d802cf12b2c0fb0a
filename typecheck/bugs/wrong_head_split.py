"""The heads are cut off but not moved in front of time, so that heads attend to heads.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Time = NewType("Time", int)
Heads = wg.ArrayLayer[tuple[Batch, Literal[8], Time, Literal[64]]]


def split(x: wg.ArrayLayer[tuple[Batch, Time, Literal[512]]]) -> Heads:
    b, t, _ = x.shape
    # bug: return wg.reshape(x, (b, 8, t, 64))
    return wg.permute_dims(wg.reshape(x, (b, t, 8, 64)), (0, 2, 1, 3))


x = wg.literal(np.random.default_rng(0).standard_normal((2, 6, 512), np.float32), Batch, Time, 512)
q = split(x)
print((q @ wg.permute_dims(q, (0, 1, 3, 2))).shape)
