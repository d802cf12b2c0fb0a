"""The labels have been read as a column and have an axis too many.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Column = np.ndarray[tuple[int, int], np.dtype[np.int64]]


def loss(logits: wg.ArrayLayer[tuple[Batch, Literal[3]]], labels: Column) -> wg.ArrayLayer[tuple[()]]:
    # bug: return wg.cross_entropy(logits, labels)
    return wg.cross_entropy(logits, labels[:, 0])


logits = wg.literal(np.ones((4, 3), np.float32), Batch, 3)
print(loss(logits, np.zeros((4, 1), np.int64)).predict().run())
