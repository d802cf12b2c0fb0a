"""Positions of patches do not count the token of the class.

Source: written for this table.
"""

from typing import Literal

import numpy as np

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)
token = settings.array_weight(np.zeros((1, 1, 32), np.float32), 1, 1, 32, name="class")
# bug: positions = settings.array_weight(np.zeros((16, 32), np.float32), 16, 32, name="positions")
positions = settings.array_weight(np.zeros((17, 32), np.float32), 17, 32, name="positions")


def embedded(patches: wg.ArrayLayer[tuple[Literal[2], Literal[16], Literal[32]]]) -> wg.ArrayLayer:
    first = wg.broadcast_to(token, (2, 1, 32))
    return wg.concat([first, patches], axis=1) + positions  # shows


print(embedded(wg.literal(np.ones((2, 16, 32), np.float32), 2, 16, 32)).shape)
