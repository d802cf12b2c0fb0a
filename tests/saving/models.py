"""Small models to save, and what they hold."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from wengert import nn, sum, tanh
from wengert.arrays import stored
from wengert.graph import Weight
from wengert.plugins import Adam, LearningRate, Plugin


class Settings(Adam, LearningRate):
    """Two parts with state of every sort: a count, and arrays."""


def adam() -> Settings:
    return Settings(learning_rate=0.01)


def network(settings: Plugin, seed: int = 0) -> nn.Sequential[Any, Any, Any]:
    chance = np.random.default_rng(seed)
    made: nn.Sequential[Any, Any, Any] = nn.Sequential(
        nn.Linear.make(settings, 3, 4, seed=chance), tanh, nn.Linear.make(settings, 4, 2, seed=chance)
    )
    return made


def step(model: nn.Sequential[Any, Any, Any], seed: int = 0) -> None:
    x = np.random.default_rng(seed).normal(size=(5, 3)).astype(np.float32)
    y = model(x)
    sum(y * y).train().run()


def told(weights: object) -> str:
    """A hash of all that can be saved, and of its types."""
    whole = hashlib.sha256()
    found: list[tuple[str, Weight]] = [*nn.weights(weights).items(), *nn.buffers(weights).items()]
    for name, weight in found:
        for key, value in {"": weight.ref.data, **weight.optimizer.kept()}.items():
            whole.update(f"{name} {key} {type(value)} {stored(value) or value}".encode())
    return whole.hexdigest()
