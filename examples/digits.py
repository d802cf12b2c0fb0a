"""Handwritten digits: a multilayer perceptron on scikit-learn's 1,797 real images.

Prints a progress bar and one final line with the test accuracy; the same seed gives the same result.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.progress import Progress
from sklearn.datasets import load_digits

import wengert as wg
from wengert.plugins import Adam, LearningRate, Names

Images = np.ndarray[Any, np.dtype[np.float32]]
Labels = np.ndarray[Any, np.dtype[np.int64]]
Pixels = Literal[64]
Classes = Literal[10]


class Settings(Adam, Names, LearningRate):
    """Adam with a learning rate, and weights that know their names."""


class Perceptron:
    """64 pixels, two hidden layers, 10 classes."""

    def __init__(self, seed: int, hidden: int = 128) -> None:
        settings = Settings(learning_rate=2e-3)
        random = np.random.default_rng(seed)

        def matrix(rows: int, columns: int, name: str) -> wg.ArrayWeight[Any, np.float32]:
            drawn = random.standard_normal((rows, columns)) * np.sqrt(2 / rows)
            return settings.array_weight(drawn.astype(np.float32), name=name)

        def bias(size: int, name: str) -> wg.ArrayWeight[Any, np.float32]:
            return settings.array_weight(np.zeros(size, np.float32), name=name)

        self.w1, self.b1 = matrix(64, hidden, "w1"), bias(hidden, "b1")
        self.w2, self.b2 = matrix(hidden, hidden, "w2"), bias(hidden, "b2")
        self.w3, self.b3 = matrix(hidden, 10, "w3"), bias(10, "b3")

    def logits(self, x: Images) -> wg.ArrayLayer[Any, np.float32]:
        """One line of scores for each image."""
        h = wg.relu(x @ self.w1 + self.b1)
        h = wg.relu(h @ self.w2 + self.b2)
        return h @ self.w3 + self.b3

    def accuracy(self, x: Images, y: Labels) -> float:
        """The share of images whose greatest score is at the label."""
        return float(np.mean(self.logits(x).predict().run().argmax(axis=1) == y))


def batches(count: int, size: int, seed: int, epoch: int) -> Iterator[np.ndarray[Any, np.dtype[np.int64]]]:
    """The indices of each batch of one epoch, in an order that depends on (seed, epoch) alone."""
    order = np.random.default_rng((seed, epoch)).permutation(count)
    for start in range(0, count, size):
        yield order[start : start + size]


def main(seed: int = 0, epochs: int = 40) -> float:
    """Train, print and return the test accuracy."""
    images, labels = load_digits(return_X_y=True)
    x = (images / 16.0 - 0.5).astype(np.float32)
    order = np.random.default_rng(seed).permutation(len(x))
    test, rest = order[:360], order[360:]
    model = Perceptron(seed)
    with Progress(disable=not sys.stdout.isatty()) as progress:
        task = progress.add_task("training", total=epochs)
        for epoch in range(epochs):
            for batch in batches(len(rest), 32, seed, epoch):
                chosen = rest[batch]
                loss = wg.cross_entropy(model.logits(x[chosen]), labels[chosen])
                value = loss.train().run()
            progress.update(task, advance=1, description=f"loss {float(value):.4f}")
    accuracy = model.accuracy(x[test], labels[test])
    print(f"{Path(__file__).name}: test accuracy {accuracy:.2%} on {len(test)} images it has not seen")
    return accuracy


if __name__ == "__main__":
    main()
