"""A small network with dropout and a norm, an optimizer with state, and points that it learns to tell apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg
from wengert.data import Rows
from wengert.nn import BatchNorm, Dropout, Linear, Seeds, Sequential
from wengert.plugins import Adam, LearningRate


class Settings(Adam, LearningRate):
    """Two parts with state of every sort: a count, and arrays."""


@dataclass(frozen=True, eq=False)
class Points(Rows):
    x: np.ndarray[Any, np.dtype[np.float32]]
    label: np.ndarray[tuple[int], np.dtype[np.int64]]


def points(n: int = 90, seed: int = 0) -> Points:
    x = np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32)
    return Points(x, (x[:, 0] * x[:, 1] > 0).astype(np.int64))


class Model:
    """What is trained, and its loss."""

    def __init__(self, seed: int = 0, rate: float = 0.01, drop: float = 0.2) -> None:
        settings, chance = Settings(learning_rate=rate), np.random.default_rng(seed)
        self.net: Sequential[Any, Any, Any] = Sequential(
            Linear.make(settings, 4, 16, seed=chance),
            BatchNorm.make(settings, 16),
            wg.relu,
            Dropout(drop),
            Linear.make(settings, 16, 2, seed=chance),
        )

    def loss(self, batch: Points, seed: Seeds | None) -> wg.ArrayLayer[tuple[()]]:
        return wg.cross_entropy(self.net(batch.x, seed=seed), batch.label)

    def accuracy(self, batch: Points) -> float:
        found = self.net(batch.x).predict().run().argmax(axis=1) == batch.label
        return float(found.mean())
