"""The direction of a view is joined to features, and the next layer does not count it.

Source: https://github.com/bmild/nerf.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
trunk = nn.Linear.make(settings, 63, 256, seed=0)
# bug: colour = nn.Linear.make(settings, 256, 128, seed=1)
colour = nn.Linear.make(settings, 283, 128, seed=1)


def field(
    point: wg.ArrayLayer[tuple[Batch, Literal[63]]], view: wg.ArrayLayer[tuple[Batch, Literal[27]]]
) -> wg.ArrayLayer[tuple[Batch, Literal[128]]]:
    h = wg.relu(trunk(point))
    return wg.relu(colour(wg.concat([h, view], axis=-1)))  # shows


at, seen = np.ones((2, 63), np.float32), np.ones((2, 27), np.float32)
print(field(wg.literal(at, Batch, 63), wg.literal(seen, Batch, 27)).shape)
