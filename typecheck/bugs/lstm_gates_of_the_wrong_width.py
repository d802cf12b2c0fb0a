"""The four gates of an LSTM share one matrix, and the part from the state makes only three.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

Batch = NewType("Batch", int)
State = wg.ArrayLayer[tuple[Batch, Literal[32]]]

chance = np.random.default_rng(0)
settings = SGD(learning_rate=0.1)
of_input = settings.array_weight(chance.standard_normal((16, 128), np.float32), 16, 128)
# bug: of_state = settings.array_weight(chance.standard_normal((32, 96), np.float32), 32, 96)
of_state = settings.array_weight(chance.standard_normal((32, 128), np.float32), 32, 128)


def step(x: wg.ArrayLayer[tuple[Batch, Literal[16]]], h: State, c: State) -> tuple[State, State]:
    gates = x @ of_input + h @ of_state  # shows
    i, f, o = wg.sigmoid(gates[:, :32]), wg.sigmoid(gates[:, 32:64]), wg.sigmoid(gates[:, 64:96])
    new = f * c + i * wg.tanh(gates[:, 96:])
    return o * wg.tanh(new), new


zeros = wg.literal(np.zeros((4, 32), np.float32), Batch, 32)
h, c = step(wg.literal(chance.random((4, 16), np.float32), Batch, 16), zeros, zeros)
print(h.predict().run().shape)
