"""How many elements a mask keeps is taken as the loss.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).array_weight(np.ones(3, np.float32), 3, name="w")
# bug: loss = wg.greater(wg.sum(w), 0.5)
loss = wg.square(wg.sum(w) - 0.5)
print(loss.train().run())  # shows
