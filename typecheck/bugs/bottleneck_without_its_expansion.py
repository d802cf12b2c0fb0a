"""The shortcut of a bottleneck keeps the channels that its last convolution multiplies by four.

Source: GengDavid/pytorch-cpn#45, The size of tensor a (512) must match the size of tensor b (256).
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert.nn import Conv2d
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((2, 8, 5, 5), np.float32), Batch, 8, 5, 5)

down = Conv2d.make(settings, 8, 4, 1, seed=0)
up = Conv2d.make(settings, 4, 16, 1, seed=1)
shortcut = Conv2d.make(settings, 8, 16, 1, seed=2)
# bug: out = up(wg.relu(down(x))) + x
out = up(wg.relu(down(x))) + shortcut(x)
print(out.shape)
