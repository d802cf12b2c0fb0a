"""Features of several inputs are joined along the batch instead of side by side.

Source: pytorch/pytorch#139037, RuntimeError: mat1 and mat2 shapes cannot be multiplied.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Linear
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
left = wg.literal(np.ones((2, 16), np.float32), Batch, 16)
right = wg.literal(np.ones((2, 16), np.float32), Batch, 16)

# bug: both = wg.concat([left, right], axis=0)
both = wg.concat([left, right], axis=1)
print(Linear.make(settings, 32, 4, seed=0)(both).shape)  # shows
