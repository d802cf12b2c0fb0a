"""numpy's mean is called on the errors.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).array_weight(np.ones(3, np.float32), 3, name="w")
# bug: loss = np.mean(wg.square(w))
loss = wg.mean(wg.square(w))
print(loss.train().run())
