"""Both directions are joined along the batch; nothing complains before the next layer.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

chance = np.random.default_rng(0)
w = SGD(learning_rate=0.1).array_weight(chance.standard_normal((64, 5), np.float32), 64, 5, name="w")
forwards = wg.literal(chance.standard_normal((8, 32), np.float32), Batch, 32)
backwards = wg.literal(chance.standard_normal((8, 32), np.float32), Batch, 32)

# bug: both = wg.concat([forwards, backwards])
both = wg.concat([forwards, backwards], axis=-1)
scores = both @ w  # shows
print(scores.shape)
