"""The targets have ten classes, the network's top was made for 133.

Source: kouhan.cn 00050409, The size of tensor a (133) must match the size of tensor b (10).
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Linear
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
features = wg.literal(np.ones((2, 16), np.float32), Batch, 16)
targets = wg.literal(np.ones((2, 10), np.float32), Batch, 10)

# bug: top = Linear.make(settings, 16, 133, seed=0)
top = Linear.make(settings, 16, 10, seed=0)
print(wg.mean(wg.square(top(features) - targets)).predict().run())  # shows
