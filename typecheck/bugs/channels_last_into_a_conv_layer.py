"""Images of OpenCV, channels last, go into a convolution layer.

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


conv = nn.Conv2d.make(settings, 3, 8, 3, seed=0)
# bug: images = wg.literal(drawn(2, 32, 32, 3), Batch, 32, 32, 3)
images = wg.literal(drawn(2, 3, 32, 32), Batch, 3, 32, 32)
print(conv(images).shape)  # shows
