"""Low-rank adaptation: a trained network stays as it is, and two thin matrices beside each of its layers learn.

y = x (W + A B) + b with W frozen, A (In, Rank) and B (Rank, Out): a few numbers are trained and saved in place of all,
and without them the network is the old one.
Source: Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

import wengert as wg
from wengert import nn
from wengert.plugins import Adam, LearningRate

RANK: Final = 2


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


Vectors = np.ndarray[tuple[int, int], np.dtype[np.float32]]
Hidden = nn.Linear[Literal[8], Literal[32]]
Head = nn.Linear[Literal[32], Literal[4]]


@dataclass(frozen=True)
class Classifier:
    """A network with one hidden layer."""

    hidden: Hidden
    head: Head

    def __call__(self, x: Vectors) -> wg.ArrayLayer[Any]:
        return self.head(wg.tanh(self.hidden(wg.literal(x, int, 8))))


def classifier(settings: Settings, seed: int) -> Classifier:
    """A new network."""
    return Classifier(
        nn.Linear.make(settings, 8, 32, seed=seed, name="hidden"),
        nn.Linear.make(settings, 32, 4, seed=seed + 1, name="head"),
    )


@dataclass(frozen=True)
class Adapter:
    """The matrices beside one weight."""

    down: wg.ArrayWeight
    up: wg.ArrayWeight

    def beside(self, weight: wg.ArrayExpression[Any]) -> wg.ArrayLayer[Any]:
        """The weight, which stays, and what is learnt."""
        return wg.stop_gradient(weight) + wg.matmul(self.down, self.up)


def adapter(settings: Settings, rows: int, columns: int, seed: int) -> Adapter:
    """An adapter that changes nothing yet."""
    down = np.random.default_rng(seed).normal(size=(rows, RANK)) / rows**0.5
    return Adapter(
        settings.array_weight(down.astype(np.float32)),
        settings.array_weight(np.zeros((RANK, columns), np.float32)),
    )


def adapted(base: Classifier, settings: Settings, seed: int) -> tuple[Classifier, list[Adapter]]:
    """The frozen network with adapters, and these."""
    hidden, head = adapter(settings, 8, 32, seed), adapter(settings, 32, 4, seed + 1)
    model = nn.replace(nn.freeze(base), "hidden.weight", hidden.beside(base.hidden.weight))
    return nn.replace(model, lambda m: m.head.weight, head.beside(base.head.weight)), [hidden, head]


def task(seed: int, turn: float) -> tuple[Vectors, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Points, and in which quarter of a plane each lies after a turn of it."""
    x = np.random.default_rng(seed).normal(size=(256, 8)).astype(np.float32)
    angle = np.arctan2(x[:, 1], x[:, 0]) + turn
    return x, np.floor((angle % (2 * np.pi)) / (np.pi / 2)).astype(np.int64)


def trained(model: Classifier, turn: float, steps: int) -> float:
    """Train a network on a task; how often it is right then."""
    for step in range(steps):
        x, y = task(step, turn)
        wg.cross_entropy(model(x), y).train().run()
    return accuracy(model, turn)


def accuracy(model: Classifier, turn: float) -> float:
    """How often a network is right on data that it has not seen."""
    x, y = task(10_000, turn)
    return float(np.mean(np.argmax(model(x).predict().run(), axis=1) == y))


def main() -> tuple[float, float, float]:
    settings = Settings(learning_rate=1e-2)
    base = classifier(settings, 0)
    first = trained(base, 0.0, 150)
    before = base.hidden.weight.data, base.head.weight.data
    model, adapters = adapted(base, settings, 2)
    at_first = accuracy(model, 0.8)
    second = trained(model, 0.8, 150)
    after = base.hidden.weight.data, base.head.weight.data
    same = all(map(np.array_equal, before, after))
    print(f"the network is {'as it was' if same else 'another'}; {nn.summary(adapters).splitlines()[-1]}")
    print(
        f"right on its task: {first:.0%}; on another one {at_first:.0%}, with adapters trained {second:.0%}"
    )
    return first, at_first, second


if __name__ == "__main__":
    main()
