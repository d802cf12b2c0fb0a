"""Logits of a segmentation have their classes first, and labels for each pixel.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
chance = np.random.default_rng(0)


def drawn(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return chance.standard_normal(shape, np.float32)


logits = wg.literal(drawn(2, 21, 8, 8), Batch, 21, 8, 8)
labels = np.zeros((2, 8, 8), np.int64)
# bug: print(wg.cross_entropy(logits, labels).shape)
print(wg.cross_entropy(wg.permute_dims(logits, (0, 2, 3, 1)), labels).shape)
