"""A layer is converted to a numpy array to look at it.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).array_weight(np.ones(3, np.float32), 3, name="w")
y = wg.tanh(w)
# bug: print(np.asarray(y).max())
print(y.predict().run().max())
