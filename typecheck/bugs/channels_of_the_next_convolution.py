"""The second convolution expects as many channels as the first one gets, not as it gives.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)
first = settings.array_weight(chance.random((8, 3, 3, 3), np.float32), 8, 3, 3, 3)
# bug: second = settings.array_weight(chance.random((16, 3, 3, 3), np.float32), 16, 3, 3, 3)
second = settings.array_weight(chance.random((16, 8, 3, 3), np.float32), 16, 8, 3, 3)
x = wg.literal(chance.random((4, 3, 32, 32), np.float32), 4, 3, 32, 32)
print(wg.conv2d(wg.relu(wg.conv2d(x, first)), second).shape)  # shows
