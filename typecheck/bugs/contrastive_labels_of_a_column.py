"""The labels of a contrastive loss have an axis of their own.

Source: written for this table.
"""

from typing import Literal

import numpy as np

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)
Features = wg.ArrayLayer[tuple[Literal[8], Literal[32]]]


def loss(a: Features, b: Features) -> wg.ArrayLayer[tuple[()]]:
    logits = (a @ wg.permute_dims(b, (1, 0))) / 0.07
    # bug: return wg.cross_entropy(logits, np.arange(8)[:, None])
    return wg.cross_entropy(logits, np.arange(8))


x = wg.literal(np.ones((8, 32), np.float32), 8, 32)
print(loss(x, x).predict().run())
