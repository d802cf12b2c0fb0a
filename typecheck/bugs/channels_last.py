"""Images as files have them, with the channels last.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)

chance = np.random.default_rng(0)
kernel = SGD(learning_rate=0.1).array_weight(chance.random((8, 3, 3, 3), np.float32), 8, 3, 3, 3)
images = wg.literal(chance.random((4, 32, 32, 3), np.float32), Batch, 32, 32, 3)
# bug: print(wg.conv2d(images, kernel).shape)
print(wg.conv2d(wg.permute_dims(images, (0, 3, 1, 2)), kernel).shape)
