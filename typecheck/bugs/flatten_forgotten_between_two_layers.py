"""A linear layer follows a convolution without what flattens between them.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Conv2d, Linear, Sequential
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)

images = wg.literal(np.ones((2, 1, 6, 6), np.float32), Batch, 1, 6, 6)
net = Sequential(
    Conv2d.make(settings, 1, 4, 3, seed=0),
    wg.relu,
    # bug:
    lambda h: wg.reshape(h, (h.shape[0], 64)),
    Linear.make(settings, 64, 2, seed=1),
)
print(net(images).shape)  # shows
