"""The bias of the last layer has the size of the hidden layer.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import Adam, LearningRate

Batch = NewType("Batch", int)


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


class Perceptron:
    """Two layers."""

    def __init__(self, settings: Settings) -> None:
        chance = np.random.default_rng(0)
        self.w1 = settings.array_weight(chance.standard_normal((64, 128), np.float32), 64, 128, name="w1")
        self.b1 = settings.array_weight(np.zeros(128, np.float32), 128, name="b1")
        self.w2 = settings.array_weight(chance.standard_normal((128, 10), np.float32), 128, 10, name="w2")
        # bug: self.b2 = settings.array_weight(np.zeros(128, np.float32), 128, name="b2")
        self.b2 = settings.array_weight(np.zeros(10, np.float32), 10, name="b2")

    def __call__(
        self, x: wg.ArrayLayer[tuple[Batch, Literal[64]]]
    ) -> wg.ArrayLayer[tuple[Batch, Literal[10]]]:
        h = wg.relu(x @ self.w1 + self.b1)
        return h @ self.w2 + self.b2  # shows


digits = wg.literal(np.ones((32, 64), np.float32), Batch, 64)
print(Perceptron(Settings(learning_rate=1e-3))(digits).shape)
