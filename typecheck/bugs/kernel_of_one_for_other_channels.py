"""A convolution of size one was made for twice the channels.

Source: LinZhuoChen/DUpsampling#13, channels problem.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Conv2d
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((2, 16, 8, 8), np.float32), Batch, 16, 8, 8)

# bug: mix = Conv2d.make(settings, 32, 64, 1, seed=0)
mix = Conv2d.make(settings, 16, 64, 1, seed=0)
print(mix(x).shape)  # shows
