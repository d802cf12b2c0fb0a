"""Softmax over axis 2 of a matrix.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
chance = np.random.default_rng(0)


def drawn(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return chance.standard_normal(shape, np.float32)


logits = wg.literal(drawn(4, 10), Batch, 10)
# bug: print(wg.softmax(logits, axis=2).shape)
print(wg.softmax(logits, axis=1).shape)
