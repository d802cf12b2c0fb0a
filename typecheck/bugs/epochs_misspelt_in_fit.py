"""`fit` is told the number of epochs by another name.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD
from wengert.training import fit

settings = SGD(learning_rate=0.1)
w = settings.array_weight(np.zeros((3, 1), np.float32), 3, 1)
xs = np.ones((8, 3), np.float32)


def loss(batch: np.ndarray[tuple[int, int], np.dtype[np.float32]], seed: object) -> wg.ArrayLayer[tuple[()]]:
    return wg.mean(wg.square(wg.literal(batch) @ w - 1.0))


# bug: print(len(fit(loss, lambda epoch: [xs], seed=0, epoch=2, show=False).steps))
print(fit(loss, lambda epoch: [xs], seed=0, epochs=2, show=False))
