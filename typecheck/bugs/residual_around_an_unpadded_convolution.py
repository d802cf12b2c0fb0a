"""A residual block whose convolution has no padding, and so makes the image smaller.

Source: written for this table.
"""

from typing import Literal, TypeVar

import numpy as np

import wengert as wg
from wengert.plugins import SGD

B = TypeVar("B", bound=int)
H = TypeVar("H", bound=int)
W = TypeVar("W", bound=int)
Image = wg.ArrayLayer[tuple[B, Literal[8], H, W]]

chance = np.random.default_rng(0)
kernel = SGD(learning_rate=0.1).array_weight(chance.random((8, 8, 3, 3), np.float32), 8, 8, 3, 3)


def block(x: Image[B, H, W]) -> Image[B, H, W]:
    # bug: return x + wg.relu(wg.conv2d(x, kernel))
    return x + wg.relu(wg.conv2d(x, kernel, padding=1))


print(block(wg.literal(chance.random((2, 8, 16, 16), np.float32), 2, 8, 16, 16)).shape)
