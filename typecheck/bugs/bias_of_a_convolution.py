"""The bias of 8 channels is added without axes for the image.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

settings = SGD(learning_rate=0.1)
kernel = settings.array_weight(np.ones((8, 3, 3, 3), np.float32), 8, 3, 3, 3)
bias = settings.array_weight(np.zeros(8, np.float32), 8)
x = wg.literal(np.ones((2, 3, 16, 16), np.float32), Batch, 3, 16, 16)
# bug: y = wg.conv2d(x, kernel, padding=1) + bias
y = wg.conv2d(x, kernel, padding=1) + bias[:, None, None]
print(y.shape)
