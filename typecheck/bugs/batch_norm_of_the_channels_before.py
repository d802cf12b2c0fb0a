"""A normalization has as many features as the convolution gets, not as it gives.

Source: Namkyeong/BGRL_Pytorch#1, running_mean should contain 256 elements not 512.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import BatchNorm, Conv2d
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)

images = wg.literal(np.ones((2, 3, 8, 8), np.float32), Batch, 3, 8, 8)
h = Conv2d.make(settings, 3, 16, 3, seed=0)(images)
# bug: print(BatchNorm.make(settings, 3)(h, seed=0).shape)
print(BatchNorm.make(settings, 16)(h, seed=0).shape)
