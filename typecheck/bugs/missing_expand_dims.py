"""One weight an example meets the features of the examples without an axis for the features.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)

chance = np.random.default_rng(0)
x = wg.literal(chance.standard_normal((32, 8), np.float32), Batch, 8)
importance = wg.literal(chance.random(32, np.float32), Batch)

# bug: weighted = x * importance
weighted = x * wg.expand_dims(importance, axis=1)
print(wg.sum(weighted, axis=0).shape)
