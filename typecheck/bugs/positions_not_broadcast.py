"""Learned positions have an axis of their own batch.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)


def drawn(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return chance.standard_normal(shape, np.float32)


positions = settings.array_weight(drawn(7, 16), 7, 16, name="positions")
x = wg.literal(drawn(2, 9, 16), Batch, 9, 16)
# bug: print((x + positions).shape)
print((x + positions[:1]).shape)
