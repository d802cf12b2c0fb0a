"""Momentum and Nesterov's: steps that remember the steps before them, and that look ahead along the velocity.

Knows: their formulas; a rate to the left is remembered with the steps of its time, one to the right scales them all.
Refuses to know: the learning rate.
"""

from __future__ import annotations

from typing import ClassVar

from wengert.arrays import Value, decayed
from wengert.graph.weights import Weight
from wengert.lazy import dense
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import NonNegative


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

    momentum: NonNegative = 0.9
    optimizer: ClassVar[type[Optimizer]] = MomentumOptimizer


class NesterovOptimizer(Optimizer["Nesterov"], pure=True):
    """v ← momentum · v + d; hands on d + momentum · v."""

    ahead: Value = 0.0  # the velocity; `Momentum`, which may stand beside this, has its own

    def step(self, delta: Value, weight: Weight) -> Value:
        d, momentum = dense(delta), self.settings.momentum
        self.ahead = decayed(self.ahead, momentum, d)
        return super().step(d + momentum * self.ahead, weight)


class Nesterov(Plugin):
    """v ← momentum · v + d, and d becomes d + momentum · v.

    >>> from wengert.plugins import LearningRate
    >>> class Settings(Nesterov, LearningRate): ...
    >>> w = Settings(learning_rate=1.0).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)][0], round(w.data, 6)
    (1.0, -5.51)

    With a rate to the left each delta is remembered at the rate of its own step, as there.

    Source: I. Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013.
    """

    momentum: NonNegative = 0.9
    optimizer: ClassVar[type[Optimizer]] = NesterovOptimizer
