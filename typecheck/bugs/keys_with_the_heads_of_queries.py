"""Keys are fewer than queries where heads are grouped, and are cut into as many.

Source: tabtoyou/KoLLaVA#26, shape '[16, 2048, 32, 128]' is invalid for input of size 33554432.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Linear
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
Time = NewType("Time", int)
x = wg.literal(np.ones((2, 5, 64), np.float32), Batch, Time, 64)
keys = Linear.make(settings, 64, 16, seed=0)(x)
# bug: heads = wg.reshape(keys, (x.shape[0], x.shape[1], 8, 8))
heads = wg.reshape(keys, (x.shape[0], x.shape[1], 2, 8))
print(heads.shape)
