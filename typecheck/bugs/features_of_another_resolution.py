"""The classifier was sized for larger images than come.

Source: pytorch/pytorch#67956, mat1 and mat2 shapes cannot be multiplied (128x512 and 2048x4096).
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Conv2d, Linear
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
images = wg.literal(np.ones((2, 1, 32, 32), np.float32), Batch, 1, 32, 32)

conv = Conv2d.make(settings, 1, 8, 3, padding=1, seed=0)
pooled = wg.max_pool2d(wg.relu(conv(images)), 4)
# bug: top = Linear.make(settings, 2048, 10, seed=1)
top = Linear.make(settings, 512, 10, seed=1)
print(top(wg.reshape(pooled, (pooled.shape[0], 512))).shape)  # shows
