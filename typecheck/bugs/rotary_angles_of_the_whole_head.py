"""Rotary angles are as many as a head has features, and its halves are rotated by them.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
Half = wg.ArrayLayer[tuple[Batch, Literal[10], Literal[16]]]


def rotated(x: wg.ArrayLayer[tuple[Batch, Literal[10], Literal[32]]]) -> wg.ArrayLayer:
    # bug: angles = wg.literal(np.ones((10, 32), np.float32), 10, 32)
    angles = wg.literal(np.ones((10, 16), np.float32), 10, 16)
    left: Half = x[:, :, :16]
    right: Half = x[:, :, 16:]
    return wg.concat([left * wg.cos(angles), right * wg.sin(angles)], axis=-1)  # shows


print(rotated(wg.literal(np.ones((2, 10, 32), np.float32), Batch, 10, 32)).shape)
