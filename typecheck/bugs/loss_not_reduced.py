"""A loss for each example is trained, where one number is needed.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).array_weight(np.ones((4, 3), np.float32), 4, 3, name="w")
x = wg.literal(np.ones((8, 4), np.float32), 8, 4)
labels = np.zeros(8, np.int64)

losses = wg.cross_entropy(x @ w, labels, reduction="none")
# bug: print(losses.train().run())
print(wg.mean(losses).train().run())
