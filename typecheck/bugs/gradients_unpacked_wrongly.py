"""Two gradients are asked for, and three are taken.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)
w = settings.array_weight(np.ones((4, 1), np.float32), 4, 1, name="w")
b = settings.array_weight(np.zeros(1, np.float32), 1, name="b")
loss = wg.mean(wg.square(wg.literal(np.ones((8, 4), np.float32), 8, 4) @ w + b))
# bug: value, dw, db = wg.gradients(loss, (w, b)).run()
dw, db = wg.gradients(loss, (w, b)).run()
print(dw.shape, db.shape)
