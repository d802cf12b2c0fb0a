"""RMSprop: steps scaled by the root of a running mean of squares.

Knows: its formula, and that a learning rate to its left would have no effect.
Refuses to know: the learning rate.
"""

from __future__ import annotations

from typing import ClassVar

from wengert.arrays import Value, decayed, root
from wengert.graph.weights import Weight
from wengert.lazy import dense
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import check_number
from wengert.plugins.rate import warn_of_unit_steps
from wengert.plugins.schedule import RATES


class RMSpropOptimizer(Optimizer["RMSprop"], pure=True):
    """c ← ρc + (1-ρ)d²; hands on d / (√c + ε)."""

    mean_square: Value = 0.0

    def step(self, delta: Value, weight: Weight) -> Value:
        s, d = self.settings, dense(delta)
        self.mean_square = decayed(self.mean_square, s.rho, (1.0 - s.rho) * (d * d))
        return super().step(d / (root(self.mean_square) + s.eps), weight)


class RMSprop(Plugin):
    """c ← ρc + (1-ρ)d², and d becomes d / (√c + ε).

    >>> from wengert.plugins import LearningRate
    >>> class Settings(RMSprop, LearningRate): ...
    >>> w = Settings(learning_rate=1.0, eps=0.0).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)][0], round(w.data, 6)
    (1.0, -17.95323)

    Source: T. Tieleman, G. Hinton, "Lecture 6.5: rmsprop", Neural Networks for Machine Learning, 2012.
    """

    rho: float = 0.99
    eps: float = 1e-8
    optimizer: ClassVar[type[Optimizer]] = RMSpropOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        check_number(self, "rho", below=1.0)
        check_number(self, "eps")
        warn_of_unit_steps(self, RMSprop)
