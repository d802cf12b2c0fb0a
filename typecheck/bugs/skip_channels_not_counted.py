"""The convolution after a skip connection counts the channels of one side only.

Source: https://github.com/milesial/Pytorch-UNet/issues.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
# bug: after = nn.Conv2d.make(settings, 64, 32, 3, padding="same", seed=0)
after = nn.Conv2d.make(settings, 128, 32, 3, padding="same", seed=0)

Image = wg.ArrayLayer[tuple[Batch, Literal[64], Literal[28], Literal[28]]]


def joined(up: Image, skip: Image) -> wg.ArrayLayer[tuple[Batch, Literal[32], Literal[28], Literal[28]]]:
    return wg.relu(after(wg.concat([up, skip], axis=1)))  # shows


x = wg.literal(np.ones((2, 64, 28, 28), np.float32), Batch, 64, 28, 28)
print(joined(x, x).shape)
