"""numpy's exponential is called on a layer.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).array_weight(np.zeros(3, np.float32), 3, name="w")
# bug: odds = np.exp(w)
odds = wg.exp(w)
print(odds.predict().run())
