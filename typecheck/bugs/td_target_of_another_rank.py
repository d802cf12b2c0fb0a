"""The chosen value has a column, the target of the Bellman equation has none.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
chance = np.random.default_rng(0)


def drawn(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return chance.standard_normal(shape, np.float32)


q = wg.literal(drawn(4, 6), Batch, 6)
target = wg.literal(drawn(4), Batch)
chosen = wg.take_along_axis(q, np.zeros((4, 1), np.int64), axis=1)
# bug: print(wg.mean(wg.square(chosen - target)).shape)
print(wg.mean(wg.square(chosen[:, 0] - target)).shape)
