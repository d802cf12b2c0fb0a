"""The state of a decoder starts as the encoder's, which is wider.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)
bridge = settings.array_weight(chance.standard_normal((64, 32), np.float32), 64, 32, name="bridge")
w = settings.array_weight(chance.standard_normal((32, 32), np.float32), 32, 32, name="w")


def decode(h: wg.ArrayLayer[tuple[Batch, Literal[32]]]) -> wg.ArrayLayer[tuple[Batch, Literal[32]]]:
    return wg.tanh(h @ w)


encoded = wg.literal(chance.standard_normal((4, 64), np.float32), Batch, 64)
# bug: print(decode(encoded).shape)
print(decode(encoded @ bridge).shape)
