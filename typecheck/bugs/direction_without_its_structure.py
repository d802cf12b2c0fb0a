"""Derivatives by two weights along one direction.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
w = settings.array_weight(np.ones((3, 2), np.float32), 3, 2)
x = wg.literal(np.ones((4, 3), np.float32), Batch, 3)
answers = x @ w
loss = wg.mean(wg.square(answers))

v = settings.array_weight(np.ones(2, np.float32), 2)
loss = wg.mean(wg.square(answers + v))
# bug: print(wg.jvp(loss, (w, v), np.ones((3, 2), np.float32)).run())
print(wg.jvp(loss, (w, v), (np.ones((3, 2), np.float32), np.ones(2, np.float32))).run())
