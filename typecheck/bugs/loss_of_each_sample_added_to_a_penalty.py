"""The penalty of all weights is added to the loss of each example, and so counted as often.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

w = SGD(learning_rate=0.1).array_weight(np.ones((3, 2), np.float32), 3, 2, name="w")
x = wg.literal(np.ones((4, 3), np.float32), Batch, 3)


def loss(labels: np.ndarray[tuple[int], np.dtype[np.int64]]) -> wg.ArrayLayer[tuple[()]]:
    # bug: fit = wg.cross_entropy(x @ w, labels, reduction="none")
    fit = wg.cross_entropy(x @ w, labels)
    return fit + 0.01 * wg.sum(wg.square(w))  # shows


print(loss(np.zeros(4, np.int64)).train().run())
