"""The vectors of words are taken from the columns of a table that has them in its rows.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)
table = settings.array_weight(chance.standard_normal((1000, 128), np.float32), 1000, 128)
w = settings.array_weight(chance.standard_normal((128, 2), np.float32), 128, 2, name="w")

# bug: words = wg.take(table, [3, 14, 15], axis=1)
words = wg.take(table, [3, 14, 15], axis=0)
print((words @ w).shape)  # shows
