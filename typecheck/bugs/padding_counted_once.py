"""Padding to 32 pixels forgets that both sides are padded.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)


def padded(
    x: wg.ArrayLayer[tuple[Batch, Literal[28], Literal[28]]],
) -> wg.ArrayLayer[tuple[Batch, Literal[32], Literal[32]]]:
    # bug: return wg.pad(x, ((0, 0), (4, 4), (4, 4)))
    return wg.pad(x, ((0, 0), (2, 2), (2, 2)))


print(padded(wg.literal(np.ones((4, 28, 28), np.float32), Batch, 28, 28)).shape)
