"""An adapter for vectors of 24 gets those of another image encoder.

Source: Comfy-Org/ComfyUI#4967, mat1 and mat2 shapes cannot be multiplied (1x1280 and 768x16384).
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.nn import Linear
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)

Encoded = wg.ArrayLayer[tuple[Batch, Literal[24]]]
Large = wg.ArrayLayer[tuple[Batch, Literal[40]]]
adapter = Linear.make(settings, 24, 32, seed=0)


def conditioned(small: Encoded, large: Large) -> wg.ArrayLayer[tuple[Batch, Literal[32]]]:
    # bug: return wg.relu(adapter(large))
    return wg.relu(adapter(small))


one, other = np.ones((2, 24), np.float32), np.ones((2, 40), np.float32)
print(conditioned(wg.literal(one, Batch, 24), wg.literal(other, Batch, 40)).shape)
