"""The numbers of words were read as floats, and index a table.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

chance = np.random.default_rng(0)
table = SGD(learning_rate=0.1).array_weight(chance.standard_normal((50, 8), np.float32), 50, 8)
# bug: words = np.array([3, 14, 15], np.float32)
words = np.array([3, 14, 15], np.int64)
print(wg.take(table, words).shape)  # shows
