"""numpy draws doubles; the weights are float32.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

chance = np.random.default_rng(0)
w = SGD(learning_rate=0.1).array_weight(np.ones((4, 2), np.float32), 4, 2, name="w")
# bug: x = wg.literal(chance.standard_normal((8, 4)), 8, 4)
x = wg.literal(chance.standard_normal((8, 4)).astype(np.float32), 8, 4)
print((x @ w).shape)  # shows
