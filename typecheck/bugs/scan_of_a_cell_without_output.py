"""A cell gives the next state alone, and no output.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
Time = NewType("Time", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((5, 2, 8), np.float32), Time, Batch, 8)
w = settings.array_weight(np.zeros((8, 16), np.float32), 8, 16)
u = settings.array_weight(np.zeros((16, 16), np.float32), 16, 16)
State = wg.ArrayLayer[tuple[Batch, Literal[16]]]
Given = wg.ArrayLayer[tuple[Batch, Literal[8]]]
h0: State = wg.literal(np.zeros((2, 16), np.float32), Batch, 16)


# bug: def step(h: State, x: Given) -> State:
def step(h: State, x: Given) -> tuple[State, State]:
    h = wg.tanh(x @ w + h @ u)
    # bug: return h
    return h, h


print(wg.scan(step, h0, x)[1].shape)  # shows
