"""The third gate of an LSTM is cut one block too long.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
State = wg.ArrayLayer[tuple[Batch, Literal[32]]]

chance = np.random.default_rng(0)
w = SGD(learning_rate=0.1).array_weight(chance.standard_normal((48, 128), np.float32), 48, 128)


def step(x: wg.ArrayLayer[tuple[Batch, Literal[16]]], h: State, c: State) -> tuple[State, State]:
    gates = wg.concat([x, h], axis=1) @ w
    i, f = wg.sigmoid(gates[:, :32]), wg.sigmoid(gates[:, 32:64])
    # bug: o = wg.sigmoid(gates[:, 64:])
    o = wg.sigmoid(gates[:, 64:96])
    new = f * c + i * wg.tanh(gates[:, 96:])
    return o * wg.tanh(new), new  # shows


zeros = wg.literal(np.zeros((4, 32), np.float32), Batch, 32)
h, c = step(wg.literal(chance.random((4, 16), np.float32), Batch, 16), zeros, zeros)
print(h.predict().run().shape)
