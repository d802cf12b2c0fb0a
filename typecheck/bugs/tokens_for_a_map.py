"""Tokens are not laid out as an image again before the convolution.

Source: gorkemcanates/Dual-Cross-Attention#21, about the size of weight.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Conv2d
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
tokens = wg.literal(np.ones((2, 16, 8), np.float32), Batch, 16, 8)

conv = Conv2d.make(settings, 8, 8, 3, seed=0)
moved = wg.permute_dims(tokens, (0, 2, 1))
# bug: print(conv(wg.reshape(tokens, (tokens.shape[0], 4, 4, 8))).shape)
print(conv(wg.reshape(moved, (tokens.shape[0], 8, 4, 4))).shape)
