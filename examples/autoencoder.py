"""A variational autoencoder: handwritten digits as two numbers each, and back.

The encoder gives the mean m and the logarithm l of the variance of a normal distribution. A code is drawn from it with
noise e that is data, z = m + exp(l / 2) e, so that the derivative passes (the reparametrization). The loss is the
negative evidence lower bound: the cross-entropy of pixels, and the divergence of that distribution from the standard
normal one, (exp(l) + m² - 1 - l) / 2.
Source: Kingma and Welling 2014, "Auto-Encoding Variational Bayes".
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

import wengert as wg
from wengert.data import batches, digits, split
from wengert.nn import Linear
from wengert.plugins import Adam, LearningRate


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


class Batch(int):
    """How many images."""


Codes: TypeAlias = wg.ArrayLayer[tuple[Batch, Literal[2]]]
Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
Labels: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


class Parts(NamedTuple):
    """The two parts of the loss, an image each."""

    pixels: wg.ArrayLayer[tuple[()]]
    divergence: wg.ArrayLayer[tuple[()]]


class Autoencoder:
    """64 pixels to 2 numbers to 64 pixels."""

    def __init__(self, seed: int = 0) -> None:
        settings = Settings(learning_rate=2e-3)
        self.hidden = Linear.make(settings, 64, 128, seed=seed, name="hidden")
        self.mean = Linear.make(settings, 128, 2, seed=seed + 1, name="mean")
        self.log_variance = Linear.make(settings, 128, 2, seed=seed + 2, name="log_variance")
        self.back = Linear.make(settings, 2, 128, seed=seed + 3, name="back")
        self.pixels = Linear.make(settings, 128, 64, seed=seed + 4, name="pixels")

    def encode(self, images: Floats) -> tuple[Codes, Codes]:
        h = wg.relu(self.hidden(wg.literal(images, Batch, 64)))
        return self.mean(h), self.log_variance(h)

    def decode(self, z: Codes) -> wg.ArrayLayer[tuple[Batch, Literal[64]]]:
        """The logits of pixels."""
        return self.pixels(wg.relu(self.back(z)))

    def parts(self, images: Floats, seed: int) -> Parts:
        m, l = self.encode(images)
        noise = np.random.default_rng(seed).standard_normal((len(images), 2)).astype(np.float32)
        logits = self.decode(m + wg.exp(l * 0.5) * wg.literal(noise, Batch, 2))
        pixels = wg.softplus(logits) - logits * wg.literal(images + 0.5, Batch, 64)  # brightness, 0 to 1
        divergence = (wg.exp(l) + wg.square(m) - 1.0 - l) * 0.5
        return Parts(wg.mean(wg.sum(pixels, axis=1)), wg.mean(wg.sum(divergence, axis=1)))


def recognized(codes: Floats, labels: Labels, held: Floats, wanted: Labels) -> float:
    """How many held codes have the label that most of their 15 nearest codes have."""
    distance = np.square(held[:, None] - codes).sum(axis=2)
    near = labels[np.argsort(distance, axis=1)[:, :15]]
    most = [np.bincount(row, minlength=10).argmax() for row in near]
    return float(np.mean(most == wanted))


def main(epochs: int = 40) -> float:
    train, test = split(digits(), (0.8, 0.2), seed=0)
    model, step = Autoencoder(), 0
    for epoch in range(epochs):
        for batch in batches(train, 64, seed=0, epoch=epoch):
            parts = model.parts(batch.images, step)
            bound = (parts.pixels + parts.divergence).train(also=parts)
            _, (pixels, divergence) = bound.run()
            step += 1
            if step % 230 == 0:
                print(f"step {step}: pixels {pixels:.1f} + divergence {divergence:.1f} nats an image")
    codes, held = (model.encode(data.images)[0].predict().run() for data in (train, test))
    share = recognized(codes, train.labels, held, test.labels)
    print(f"two numbers an image tell {share:.0%} of new digits by their neighbours; training saw no label")
    return share


if __name__ == "__main__":
    main()
