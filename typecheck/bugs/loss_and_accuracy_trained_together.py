"""A pair of the loss and the accuracy is trained.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
layer = nn.Linear.make(settings, 8, 3, seed=0)
labels = np.array([0, 2])


def both(x: wg.ArrayLayer[tuple[Batch, Literal[8]]]) -> tuple[wg.ArrayLayer[tuple[()]], wg.Indices]:
    scores = layer(x)
    return wg.cross_entropy(scores, labels), wg.argmax(scores, axis=-1)


loss, places = both(wg.literal(np.ones((2, 8), np.float32), Batch, 8))
# bug: print(wg.train((loss, places)).run())
print(wg.train(loss, also=places).run()[0])
