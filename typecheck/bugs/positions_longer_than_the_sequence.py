"""A table of 128 position vectors is added to sequences of 100.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)
positions = settings.array_weight(chance.standard_normal((128, 16), np.float32), 128, 16, name="positions")
words = wg.literal(chance.standard_normal((2, 100, 16), np.float32), Batch, 100, 16)

# bug: x = words + positions
x = words + positions[:100]
print(x.shape)
