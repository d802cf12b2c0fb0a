"""A weight is given to `update`, which is for buffers.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)
w = settings.array_weight(np.zeros((3,), np.float32), 3)
seen = settings.buffer(np.zeros((3,), np.float32), 3)
x = wg.literal(np.ones((3,), np.float32), 3)
# bug: wg.update(w, x, rate=0.1).run()
wg.update(seen, x, rate=0.1).run()
print(w.data, seen.data)
