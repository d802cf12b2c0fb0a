"""The sequences come with time in front, and are given to a function that wants the batch there.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg

Batch = NewType("Batch", int)
Time = NewType("Time", int)


def pooled(x: wg.ArrayLayer[tuple[Batch, Time, Literal[16]]]) -> wg.ArrayLayer[tuple[Batch, Literal[16]]]:
    return wg.mean(x, axis=1)


sequences = wg.literal(np.random.default_rng(0).random((7, 4, 16), np.float32), Time, Batch, 16)
# bug: print(pooled(sequences).shape)
print(pooled(wg.permute_dims(sequences, (1, 0, 2))).shape)
