"""Adam: steps scaled by running moments of the deltas, with bias correction.

Knows: its formula, and that a learning rate to its left would have no effect.
Refuses to know: the learning rate.
"""

from __future__ import annotations

from typing import ClassVar

from wengert.arrays import Value, root
from wengert.graph.weights import Weight
from wengert.lazy import dense
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import check_number
from wengert.plugins.rate import warn_unrated
from wengert.plugins.schedule import RATES


class Moments(Optimizer["Adam"], pure=True):
    """Running mean and running mean square of the deltas; hands on their corrected quotient."""

    count: int = 0
    mean: Value = 0.0
    square: Value = 0.0

    def step(self, delta: Value, weight: Weight) -> Value:
        s, d = self.settings, dense(delta)
        self.count += 1
        self.mean = s.beta1 * self.mean + (1.0 - s.beta1) * d
        self.square = s.beta2 * self.square + (1.0 - s.beta2) * (d * d)
        mean = self.mean / (1.0 - s.beta1**self.count)
        square = self.square / (1.0 - s.beta2**self.count)
        return super().step(mean / (root(square) + s.eps), weight)


class Adam(Plugin):
    """t ← t + 1; m ← β₁m + (1-β₁)d; v ← β₂v + (1-β₂)d²; d becomes (m/(1-β₁ᵗ)) / (√(v/(1-β₂ᵗ)) + ε).

    >>> from wengert.plugins import LearningRate
    >>> class Settings(Adam, LearningRate): ...
    >>> w = Settings(learning_rate=1.0, eps=0.0).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)], round(w.data, 6)
    ([1.0, 0.0], -0.965182)

    Source: D. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1.
    """

    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    optimizer: ClassVar[type[Optimizer]] = Moments
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        check_number(self, "beta1", below=1.0)
        check_number(self, "beta2", below=1.0)
        check_number(self, "eps")
        warn_unrated(self, "Adam")
