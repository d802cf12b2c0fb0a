"""Momentum: a step that remembers the steps before it.

Knows: its formula; a rate to its left is remembered with the steps of its time, one to its right scales them all.
Refuses to know: the learning rate.
"""

from __future__ import annotations

from typing import ClassVar

from wengert.arrays import Value, decayed
from wengert.graph.weights import Weight
from wengert.lazy import dense
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import check_number


class MomentumOptimizer(Optimizer["Momentum"], pure=True):
    """v ← momentum · v + d; hands v on."""

    velocity: Value = 0.0

    def step(self, delta: Value, weight: Weight) -> Value:
        self.velocity = decayed(self.velocity, self.settings.momentum, dense(delta))
        return super().step(self.velocity, weight)


class Momentum(Plugin):
    """v ← momentum · v + d, and d becomes v.

    >>> from wengert.plugins import LearningRate
    >>> class Settings(Momentum, LearningRate): ...
    >>> w = Settings(learning_rate=1.0).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)], round(w.data, 6)
    ([1.0, 0.0], -2.9)

    With a rate to the left, `(LearningRateSchedule, Momentum)`, each delta is remembered at the rate of its own step.

    Source: B. Polyak, "Some methods of speeding up the convergence of iteration methods", 1964.
    """

    momentum: float = 0.9
    optimizer: ClassVar[type[Optimizer]] = MomentumOptimizer

    def __post_init__(self) -> None:
        check_number(self, "momentum")
