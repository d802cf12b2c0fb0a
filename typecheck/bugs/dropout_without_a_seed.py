"""Dropout is called with a rate alone; what is random here says from which seed.

Source: written for this table.
"""

import numpy as np

import wengert as wg

x = wg.literal(np.ones((4, 3), np.float32), 4, 3)
# bug: y = wg.dropout(x, 0.5)
y = wg.dropout(x, 0.5, seed=0)
print(y.predict().run().sum())
