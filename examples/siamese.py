"""A siamese network: two images of digits go through one small residual network with batch normalization.

It learns whether both show the same digit, from what differs between their features. Each norm is called twice in a
run, and its running statistics make two steps, in the commit of the training that they belong to.
Source: Bromley et al. 1993, "Signature Verification using a Siamese Time Delay Neural Network"; He et al. 2015, "Deep
Residual Learning for Image Recognition".
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

import wengert as wg
from wengert.data import Digits, digits, split
from wengert.nn import BatchNorm, Conv2d, Linear, Seeds
from wengert.plugins import Adam, LearningRate


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


class Batch(int):
    """How many pairs."""


Images: TypeAlias = wg.ArrayLayer[tuple[Batch, Literal[8], Literal[8], Literal[8]]]
Features: TypeAlias = wg.ArrayLayer[tuple[Batch, Literal[8]]]
Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
Pairs: TypeAlias = tuple[Floats, Floats, Floats]


class Block:
    """Two convolutions beside the identity, each with a norm."""

    def __init__(self, settings: Settings, seed: int) -> None:
        self.first = Conv2d.make(settings, 8, 8, 3, padding="same", seed=seed, bias=False)
        self.norm = BatchNorm.make(settings, 8)
        self.second = Conv2d.make(settings, 8, 8, 3, padding="same", seed=seed + 1, bias=False)
        self.last_norm = BatchNorm.make(settings, 8)

    def __call__(self, x: Images, seed: Seeds | None) -> Images:
        h = wg.relu(self.norm(self.first(x), seed=seed))
        return wg.relu(x + self.last_norm(self.second(h), seed=seed))


class Network:
    """Features of images, and how far two are from each other."""

    def __init__(self, seed: int = 0) -> None:
        settings = Settings(learning_rate=3e-3)
        self.stem = Conv2d.make(settings, 1, 8, 3, padding="same", seed=seed)
        self.blocks = [Block(settings, seed + 1), Block(settings, seed + 3)]
        self.top = Linear.make(settings, 8, 1, seed=seed + 5)

    def features(self, images: Floats, seed: Seeds | None) -> Features:
        x = self.stem(wg.reshape(wg.literal(images, Batch, 64), (-1, 1, 8, 8)))
        for block in self.blocks:
            x = block(x, seed)
        return wg.mean(x, axis=(2, 3))

    def __call__(self, pairs: Pairs, seed: Seeds | None = None) -> wg.ArrayLayer[tuple[Batch]]:
        """The logit that both show the same digit."""
        left, right = (self.features(images, seed) for images in pairs[:2])
        return wg.squeeze(self.top(wg.abs(left - right)), axis=1)

    def loss(self, pairs: Pairs, seed: Seeds | None = None) -> wg.ArrayLayer[tuple[()]]:
        """Binary cross-entropy."""
        z = self(pairs, seed)
        return wg.mean(wg.softplus(z) - z * pairs[2])

    def accuracy(self, pairs: Pairs) -> float:
        return float(np.mean((self(pairs).predict().run() > 0.0) == (pairs[2] > 0.5)))


def pairs(data: Digits, count: int, seed: int) -> Pairs:
    """Images and partners, of which every second one is of the same digit."""
    chance = np.random.default_rng(seed)
    left = chance.integers(0, len(data), count)
    right = chance.integers(0, len(data), count)
    for i in range(0, count, 2):
        right[i] = chance.choice(np.flatnonzero(data.labels == data.labels[left[i]]))
    same = (data.labels[left] == data.labels[right]).astype(np.float32)
    return data.images[left], data.images[right], same


def main(steps: int = 300) -> tuple[float, float]:
    train, test = split(digits(), (0.8, 0.2), seed=0)
    network, held = Network(), pairs(test, 500, 0)
    before = network.accuracy(held)
    for step in range(steps):
        loss = network.loss(pairs(train, 64, step + 1), seed=step).train().run()
        if step % 50 == 0:
            print(f"step {step}: loss {loss:.3f}", flush=True)
    after = network.accuracy(held)
    print(f"same digit or not: right on {before:.0%} of new pairs before, {after:.0%} after {steps} steps")
    return before, after


if __name__ == "__main__":
    main()
