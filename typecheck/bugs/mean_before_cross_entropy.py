"""Logits are averaged over the classes before the loss.

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
labels = np.zeros(4, np.int64)
# bug: print(wg.cross_entropy(wg.mean(logits, axis=-1), labels).shape)
print(wg.cross_entropy(logits, labels).shape)
