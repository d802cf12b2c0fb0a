"""The second convolution of a block halves the image, and the shortcut does not.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)
kernel = settings.array_weight(chance.random((8, 8, 3, 3), np.float32), 8, 8, 3, 3)
narrow = settings.array_weight(chance.random((8, 8, 1, 1), np.float32), 8, 8, 1, 1)
x = wg.literal(chance.random((2, 8, 16, 16), np.float32), Batch, 8, 16, 16)
# bug: shortcut = x
shortcut = wg.conv2d(x, narrow, stride=2)
print((shortcut + wg.conv2d(x, kernel, stride=2, padding=1)).shape)  # shows
