"""Handwritten digits: a multilayer perceptron learns to read scikit-learn's 1,797 real images.

A fifth of the images is kept back for the test. The others are shown many times, never twice quite alike.
Everything random comes from one seed, so that the same seed gives the same result.

Before it trains, the program has mypy check it: a wrong dtype, an argument too many or a loss that is no
scalar would be found here, with the line, and not an hour later.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

import wengert as wg
from wengert.plugins import Adam, LearningRate, Names

Images = np.ndarray[Any, np.dtype[np.float32]]
Indices = np.ndarray[Any, np.dtype[np.int64]]

TESTED = 360
BATCH = 32


class Settings(Adam, Names, LearningRate):
    """Adam with a learning rate, and weights that know their names."""


class Perceptron:
    """64 pixels, two hidden layers, 10 classes."""

    def __init__(self, seed: int, hidden: int = 256) -> None:
        settings = Settings(learning_rate=5e-4)
        chance = np.random.default_rng(seed)

        def matrix(rows: int, columns: int, name: str) -> wg.ArrayWeight[Any, np.float32]:
            drawn = chance.standard_normal((rows, columns)) * np.sqrt(2 / rows)
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

    def accuracy(self, x: Images, y: Indices) -> float:
        """The share of images whose greatest score is at the label."""
        return float(np.mean(self.logits(x).predict().run().argmax(axis=1) == y))


def varied(x: Images, chance: np.random.Generator) -> Images:
    """The images as other hands write them: some moved by one pixel, all a little smudged."""
    wide = np.pad(x.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)), constant_values=-0.5)
    still = chance.random((2, len(x), 1, 1)) < 0.8
    down, right = np.where(still, 1, chance.integers(0, 3, still.shape))
    pixels = wide[np.arange(len(x))[:, None, None], down + np.arange(8)[:, None], right + np.arange(8)]
    smudges = np.float32(0.1) * chance.standard_normal(x.shape, np.float32)
    images: Images = smudges + pixels.reshape(x.shape)
    return images


def batches(indices: Indices, chance: np.random.Generator) -> Iterator[Indices]:
    """All indices in a new order, some at a time."""
    order = chance.permutation(indices)
    for start in range(0, len(order), BATCH):
        yield order[start : start + BATCH]


def train(model: Perceptron, x: Images, y: Indices, seed: int, epochs: int) -> None:
    """Show all images `epochs` times, with a progress bar where somebody can see it."""
    with Progress(disable=not sys.stdout.isatty()) as progress:
        task = progress.add_task("training", total=epochs)
        for epoch in range(epochs):
            chance = np.random.default_rng((seed, epoch))
            total = 0.0
            for batch in batches(np.arange(len(x)), chance):
                loss = wg.cross_entropy(model.logits(varied(x[batch], chance)), y[batch])
                total += float(loss.train().run()) * len(batch)
            progress.update(task, advance=1, description=f"loss {total / len(x):.4f}")


def checked_types() -> str:
    """What mypy says of this file, in one line."""
    if find_spec("mypy") is None:
        return "types not checked, mypy is not installed"
    here = Path(__file__).resolve()
    command = [sys.executable, "-m", "mypy", "--strict", str(here)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=here.parent.parent)
    said = (done.stdout + done.stderr).strip().splitlines()
    return f"mypy --strict on this model: {said[-1] if said else 'no answer'}"


def main(seed: int = 0, epochs: int = 80) -> float:
    """Check, train, print and return the test accuracy."""
    name = Path(__file__).name
    print(f"{name}: {checked_types()}")
    digits: Any = load_digits()  # Any: scikit-learn has no types
    x, y = (digits.data / 16.0 - 0.5).astype(np.float32), digits.target.astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(x))
    test, rest = order[:TESTED], order[TESTED:]
    model = Perceptron(seed)
    with threadpool_limits(1):  # matrices this small are done before a second thread has woken up
        train(model, x[rest], y[rest], seed, epochs)
    accuracy = model.accuracy(x[test], y[test])
    print(f"{name}: test accuracy {accuracy:.2%} on {TESTED} images it has not seen")
    return accuracy


if __name__ == "__main__":
    main()
