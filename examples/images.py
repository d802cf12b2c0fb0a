"""An image classifier with convolutions: handwritten digits of 8 by 8 pixels.

Two convolutions with ReLU and max-pooling, then one dense layer; mypy computes 8, 4 and 2 pixels a side by itself.
Source: LeCun et al. 1998, "Gradient-Based Learning Applied to Document Recognition".
"""

from __future__ import annotations

from typing import Literal

import numpy as np

import wengert as wg
from wengert.data import Digits, batches, digits, split
from wengert.nn import Conv2d, Linear
from wengert.plugins import Adam, LearningRate


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


class Batch(int):
    """How many images."""


class Network:
    """Digits to scores of ten classes."""

    def __init__(self, seed: int = 0) -> None:
        settings = Settings(learning_rate=2e-3)
        self.first = Conv2d.make(settings, 1, 16, 3, padding="same", seed=seed, name="first")
        self.second = Conv2d.make(settings, 16, 32, 3, padding="same", seed=seed + 1, name="second")
        self.top = Linear.make(settings, 128, 10, seed=seed + 2, name="top")

    def __call__(self, batch: Digits) -> wg.ArrayLayer[tuple[Batch, Literal[10]]]:
        x = wg.reshape(wg.literal(batch.images, Batch, 64), (-1, 1, 8, 8))
        edges = wg.max_pool2d(wg.relu(self.first(x)), 2)
        strokes = wg.max_pool2d(wg.relu(self.second(edges)), 2)
        return self.top(wg.reshape(strokes, (-1, 128)))

    def loss(self, batch: Digits) -> wg.ArrayLayer[tuple[()]]:
        return wg.cross_entropy(self(batch), batch.labels)

    def accuracy(self, batch: Digits) -> float:
        return float(np.mean(self(batch).predict().run().argmax(axis=1) == batch.labels))


def main(epochs: int = 8) -> float:
    train, test = split(digits(), (0.8, 0.2), seed=0)
    network = Network()
    for epoch in range(epochs):
        losses = [network.loss(batch).train().run() for batch in batches(train, 32, seed=0, epoch=epoch)]
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.3f}, test accuracy {network.accuracy(test):.1%}")
    accuracy = network.accuracy(test)
    print(f"two convolutions read {accuracy:.0%} of {len(test)} digits that they have not seen")
    return accuracy


if __name__ == "__main__":
    main()
