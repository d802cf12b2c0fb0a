"""A kernel is set as doubles in a network of floats.

Source: pytorch/pytorch#2138, expected Double tensor (got Float tensor).
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)

images = wg.literal(np.ones((1, 1, 1, 6), np.float32), 1, 1, 1, 6)
# bug: kernel = settings.array_weight(np.ones((1, 1, 1, 3), np.float64), 1, 1, 1, 3)
kernel = settings.array_weight(np.ones((1, 1, 1, 3), np.float32), 1, 1, 1, 3)
print(wg.conv2d(images, kernel).shape)  # shows
