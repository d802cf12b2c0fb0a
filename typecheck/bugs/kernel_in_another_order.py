"""The kernel has its inputs first and its outputs second.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)
# bug: kernel = settings.array_weight(chance.random((3, 16, 5, 5), np.float32), 3, 16, 5, 5)
kernel = settings.array_weight(chance.random((16, 3, 5, 5), np.float32), 16, 3, 5, 5)
images = wg.literal(chance.random((4, 3, 32, 32), np.float32), 4, 3, 32, 32)
print(wg.conv2d(images, kernel, padding=2).shape)  # shows
