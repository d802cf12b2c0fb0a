"""The squared errors are trained without their mean.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).array_weight(np.ones(3, np.float32), 3, name="w")
wanted = wg.literal(np.array([1.0, 2.0, 3.0], np.float32), 3)

# bug: loss = wg.square(w - wanted)
loss = wg.mean(wg.square(w - wanted))
for _ in range(10):
    wg.train(loss).run()  # shows
print(w.data)
