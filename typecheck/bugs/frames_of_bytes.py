"""Frames of a game are bytes, and go into a convolution as they are.

Source: pytorch/pytorch#882, ByteTensor not working with F.conv2d?.
"""

import numpy as np

from wengert.nn import Conv2d
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)

frames = np.zeros((1, 4, 12, 12), np.uint8)
conv = Conv2d.make(settings, 4, 8, 3, seed=0)
# bug: print(conv(frames).shape)
print(conv(frames.astype(np.float32) / np.float32(255)).shape)
