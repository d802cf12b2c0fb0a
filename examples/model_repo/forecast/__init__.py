"""What four sensors will say next, from what they have said: one layer of attention over time."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

import wengert as wg
from wengert.nn import Linear, MultiHeadAttention
from wengert.plugins import Adam, LearningRate, Names

SENSORS: Final = 4
WIDTH: Final = 16
HEADS: Final = 2

Floats = np.ndarray[Any, np.dtype[np.float32]]


class Batch(int):
    """How many series are read at once."""


class Time(int):
    """How many steps each has."""


Series = wg.ArrayLayer[tuple[Batch, Time, Literal[4]]]
Answer = wg.ArrayLayer[tuple[Batch, Literal[4]]]


class Settings(Adam, Names, LearningRate):
    """Adam with a learning rate, and weights that know their names."""


class Forecaster:
    """The next value of each sensor."""

    def __init__(self, settings: Settings, seed: int = 0) -> None:
        chance = np.random.default_rng(seed)
        self.read = Linear.make(settings, SENSORS, WIDTH, seed=chance, name="read")
        self.attention = MultiHeadAttention.make(settings, WIDTH, HEADS, seed=chance, name="attention")
        self.answer = Linear.make(settings, WIDTH, SENSORS, seed=chance, name="answer")

    def __call__(self, series: Series) -> Answer:
        seen = wg.relu(self.read(series))
        return self.answer((seen + self.attention(seen))[:, -1])

    def loss(self, series: Floats, following: Floats) -> wg.ArrayLayer[tuple[()]]:
        """The mean squared error."""
        answer = self(wg.literal(series, Batch, Time, SENSORS))
        return wg.mean(wg.square(answer - wg.literal(following, Batch, SENSORS)))


def waves(count: int, steps: int, seed: int) -> tuple[Floats, Floats]:
    """Sine waves of all phases, one a sensor, and their next values."""
    phases = np.random.default_rng(seed).uniform(0.0, 6.28, (count, 1, SENSORS))
    values = np.sin(phases + 0.5 * np.arange(steps + 1)[:, None]).astype(np.float32)
    return values[:, :-1], values[:, -1]
