"""Gates of experts meet their outputs without an axis for the features.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
gate = nn.Linear.make(settings, 16, 4, seed=0)
experts = settings.array_weight(np.ones((4, 16, 8), np.float32), 4, 16, 8, name="experts")


def mixture(x: wg.ArrayLayer[tuple[Batch, Literal[16]]]) -> wg.ArrayLayer[tuple[Batch, Literal[8]]]:
    each = wg.einsum("bi,eio->beo", x, experts)
    weights = wg.softmax(gate(x), axis=-1)
    # bug: return wg.sum(each * weights, axis=1)
    return wg.sum(each * wg.expand_dims(weights, axis=-1), axis=1)


print(mixture(wg.literal(np.ones((2, 16), np.float32), Batch, 16)).shape)
