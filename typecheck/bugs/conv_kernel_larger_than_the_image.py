"""After three poolings the image is smaller than the kernel.

Source: written for this table.
"""

from typing import NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)


def drawn(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return chance.standard_normal(shape, np.float32)


conv = nn.Conv2d.make(settings, 8, 8, 5, seed=0)
x = wg.literal(drawn(2, 8, 28, 28), Batch, 8, 28, 28)
h = wg.max_pool2d(x, 2)
h2 = wg.max_pool2d(h, 2)
# bug: print(conv(wg.max_pool2d(h2, 2)).shape)
print(conv(h2).shape)
