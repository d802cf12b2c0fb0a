"""A scan goes along the batch, which is the first axis of the inputs.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Time = NewType("Time", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((2, 5, 8), np.float32), Batch, Time, 8)
w = settings.array_weight(np.zeros((8, 16), np.float32), 8, 16)
u = settings.array_weight(np.zeros((16, 16), np.float32), 16, 16)
State = wg.ArrayLayer[tuple[Batch, Literal[16]]]
Given = wg.ArrayLayer[tuple[Batch, Literal[8]]]
h0: State = wg.literal(np.zeros((2, 16), np.float32), Batch, 16)


@wg.cell
def step(h: State, x: Given) -> tuple[State, State]:
    h = wg.tanh(x @ w + h @ u)
    return h, h


# bug: print(wg.scan(step, h0, x)[1].shape)
print(wg.scan(step, h0, wg.permute_dims(x, (1, 0, 2)))[1].shape)
