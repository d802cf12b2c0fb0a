"""Gray images have no axis for their one channel.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

chance = np.random.default_rng(0)
kernel = SGD(learning_rate=0.1).array_weight(chance.random((8, 1, 5, 5), np.float32), 8, 1, 5, 5)
images = wg.literal(chance.random((4, 28, 28), np.float32), Batch, 28, 28)
# bug: print(wg.conv2d(images, kernel).shape)
print(wg.conv2d(wg.expand_dims(images, axis=1), kernel).shape)
