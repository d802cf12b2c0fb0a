"""The data are moved to the GPU, and the weights are not.

Source: written for this table.
"""

from importlib.util import find_spec

import numpy as np

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).array_weight(np.ones((4, 2), np.float32), 4, 2, name="w")
data = np.ones((8, 4), np.float32)

if find_spec("cupy"):
    import cupy as cp

    if cp.cuda.is_available():
        # bug: moved = w
        moved = SGD(learning_rate=0.1).array_weight(cp.asarray(w.data), 4, 2, name="w")
        x = wg.literal(cp.asarray(data), 8, 4)
        print((x @ moved).predict().run().shape)  # shows
