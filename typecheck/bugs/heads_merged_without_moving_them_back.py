"""After attention the heads are merged while they still stand in front of time.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Time = NewType("Time", int)


def merged(
    heads: wg.ArrayLayer[tuple[Batch, Literal[8], Time, Literal[64]]],
) -> wg.ArrayLayer[tuple[Batch, Time, Literal[512]]]:
    b, _, t, _ = heads.shape
    # bug: return wg.reshape(heads, (b, t, 512))
    return wg.reshape(wg.permute_dims(heads, (0, 2, 1, 3)), (b, t, 512))


x = wg.literal(np.random.default_rng(0).standard_normal((2, 8, 6, 64), np.float32), Batch, 8, Time, 64)
print(merged(x).predict().run()[0, 0, :3])
