"""Adadelta: steps as large as the steps before them, so that no rate is needed.

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
from wengert.plugins.schedule import RATES


class AdadeltaOptimizer(Optimizer["Adadelta"], pure=True):
    """Running mean squares of deltas and of steps; hands on the delta times the quotient of their roots."""

    square_delta: Value = 0.0
    square_step: Value = 0.0

    def step(self, delta: Value, weight: Weight) -> Value:
        s, d = self.settings, dense(delta)
        self.square_delta = decayed(self.square_delta, s.rho, (1.0 - s.rho) * (d * d))
        step = d * (root(self.square_step + s.eps) / root(self.square_delta + s.eps))
        self.square_step = decayed(self.square_step, s.rho, (1.0 - s.rho) * (step * step))
        return super().step(step, weight)


class Adadelta(Plugin):
    """c ← ρc + (1-ρ)d²; x = d √(u + ε) / √(c + ε); u ← ρu + (1-ρ)x²; d becomes x.

    >>> w = Adadelta(rho=0.9, eps=0.25).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)][0], round(w.data, 6)
    (1.0, -1.163279)

    Source: M. Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012.
    """

    rho: float = 0.9
    eps: float = 1e-6
    optimizer: ClassVar[type[Optimizer]] = AdadeltaOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        check_number(self, "rho", below=1.0)
        check_number(self, "eps")
