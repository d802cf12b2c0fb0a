"""Features are joined below each other, not side by side.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)

chance = np.random.default_rng(0)
words = wg.literal(chance.standard_normal((32, 100), np.float32), Batch, 100)
tags = wg.literal(chance.standard_normal((32, 20), np.float32), Batch, 20)

# bug: both = wg.concat([words, tags], axis=0)
both = wg.concat([words, tags], axis=1)
print(both.shape)
