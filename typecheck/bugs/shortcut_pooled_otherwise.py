"""The shortcut rounds an odd length down where the residual branch rounds it up.

Source: yl4579/StyleTTS2#208, The size of tensor a (34) must match the size of tensor b (35).
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Conv2d
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((2, 4, 7, 7), np.float32), Batch, 4, 7, 7)

residual = Conv2d.make(settings, 4, 4, 3, stride=2, padding=1, seed=0)
# bug: shortcut = wg.avg_pool2d(x, 2)
shortcut = wg.avg_pool2d(x, 3, stride=2, padding=1)
print((residual(x) + shortcut).shape)  # shows
