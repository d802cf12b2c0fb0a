"""Handwritten digits: a multilayer perceptron learns to read scikit-learn's 1,797 real images.

A fifth of the images is kept back for the test. The others are shown many times, never twice quite alike.
Everything random in training comes from one seed, so that the same seed gives the same result.

Before it trains, the program has mypy check it: a wrong dtype, an argument too many or a loss that is no
scalar would be found here, with the line, and not an hour later.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

import wengert as wg
from wengert.data import Digits, digits, split
from wengert.nn import Linear, Seeds, Sequential
from wengert.plugins import Adam, LearningRate, Names
from wengert.training import fit

Images = np.ndarray[Any, np.dtype[np.float32]]
SPLIT = 1  # the same for every seed of the training, so that their results can be compared


class Settings(Adam, Names, LearningRate):
    """Adam with a learning rate, and weights that know their names."""


class Perceptron:
    """64 pixels, two hidden layers, 10 classes."""

    def __init__(self, seed: int, hidden: int = 256) -> None:
        settings, chance = Settings(learning_rate=5e-4), np.random.default_rng(seed)
        self.scores = Sequential(
            Linear.make(settings, 64, hidden, seed=chance, name="first"),
            wg.relu,
            Linear.make(settings, hidden, hidden, seed=chance, name="second"),
            wg.relu,
            Linear.make(settings, hidden, 10, seed=chance, name="scores"),
        )

    def loss(self, batch: Digits, seed: Seeds | None) -> wg.ArrayLayer[tuple[()]]:
        """How surprising the labels are; in training of images as other hands write them."""
        images = batch.images if seed is None else varied(batch.images, np.random.default_rng(seed))
        return wg.cross_entropy(self.scores(images), batch.labels)

    def accuracy(self, batch: Digits) -> float:
        """The share of images whose greatest score is at the label."""
        return float(np.mean(self.scores(batch.images).predict().run().argmax(axis=1) == batch.labels))


def varied(x: Images, chance: np.random.Generator) -> Images:
    """Some images moved by one pixel, all a little smudged."""
    wide = np.pad(x.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)), constant_values=-0.5)
    still = chance.random((2, len(x), 1, 1)) < 0.8
    down, right = np.where(still, 1, chance.integers(0, 3, still.shape))
    pixels = wide[np.arange(len(x))[:, None, None], down + np.arange(8)[:, None], right + np.arange(8)]
    smudges = np.float32(0.1) * chance.standard_normal(x.shape, np.float32)
    images: Images = smudges + pixels.reshape(x.shape)
    return images


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
    train, test = split(digits(), (0.8, 0.2), seed=SPLIT)
    model = Perceptron(seed)
    with threadpool_limits(1):  # matrices this small are done before a second thread has woken up
        fit(model.loss, train, seed=seed, epochs=epochs)
    accuracy = model.accuracy(test)
    print(f"{name}: test accuracy {accuracy:.2%} on {len(test)} images it has not seen")
    return accuracy


if __name__ == "__main__":
    main()
