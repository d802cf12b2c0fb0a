"""Two feature vectors are stacked where they should be joined.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

chance = np.random.default_rng(0)
w = SGD(learning_rate=0.1).array_weight(chance.standard_normal((128, 2), np.float32), 128, 2, name="w")
left = wg.literal(chance.standard_normal((16, 64), np.float32), 16, 64)
right = wg.literal(chance.standard_normal((16, 64), np.float32), 16, 64)

# bug: pair = wg.stack([left, right], axis=1)
pair = wg.concat([left, right], axis=1)
scores = pair @ w  # shows
print(scores.shape)
