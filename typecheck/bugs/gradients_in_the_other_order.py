"""The gradients are taken in another order than they were asked for.

Source: written for this table.
"""

from typing import Literal

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Matrix = wg.Array[tuple[Literal[4], Literal[1]]]
Row = wg.Array[tuple[Literal[1]]]

settings = SGD(learning_rate=0.1)
w = settings.array_weight(np.ones((4, 1), np.float32), 4, 1, name="w")
b = settings.array_weight(np.zeros(1, np.float32), 1, name="b")


def gradients(loss: wg.ArrayLayer[tuple[()]]) -> tuple[Matrix, Row]:
    # bug: db, dw = wg.gradients(loss, (w, b)).run()
    dw, db = wg.gradients(loss, (w, b)).run()
    return dw, db  # shows


x = wg.literal(np.ones((8, 4), np.float32), 8, 4)
print([g.shape for g in gradients(wg.mean(wg.square(x @ w + b)))])
