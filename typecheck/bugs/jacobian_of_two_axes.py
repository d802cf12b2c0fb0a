"""The Jacobian of a matrix by a matrix is taken for a matrix.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
w = settings.array_weight(np.ones((3, 2), np.float32), 3, 2)
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]
x = wg.literal(np.ones((4, 3), np.float32), Batch, 3)
answers = x @ w
loss = wg.mean(wg.square(answers))

# bug: found: Matrix = wg.jacobian(answers, w).run()
found: Matrix = wg.jacobian(wg.sum(answers, axis=0), w).run()[:, :, 0]
print(found.shape)
