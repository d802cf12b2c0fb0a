"""A weight is made from a list of numbers, which numpy makes doubles.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

# bug: w = SGD(learning_rate=0.1).array_weight(np.array([0.5, -0.5]), 2, name="w")
w = SGD(learning_rate=0.1).array_weight(np.array([0.5, -0.5], np.float32), 2, name="w")
x = wg.literal(np.ones((3, 2), np.float32), 3, 2)
print(wg.sum(x @ w).train().run())  # shows
