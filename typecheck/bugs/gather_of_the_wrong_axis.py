"""Q values are gathered with actions of rank one.

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
actions = np.zeros(4, np.int64)
# bug: print(wg.take_along_axis(q, actions, axis=1).shape)
print(wg.take_along_axis(q, actions[:, None], axis=1).shape)
