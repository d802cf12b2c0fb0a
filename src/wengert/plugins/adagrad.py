"""Adagrad and its relatives: steps scaled by the root of all squares so far, or of a running mean of them.

Knows: the formulas of Adagrad, RMSprop and Adadelta, and that a learning rate to their left would have no effect.
Refuses to know: the learning rate.
"""

from __future__ import annotations

from operator import setitem
from sys import getrefcount
from typing import ClassVar

from wengert.arrays import Value, decayed, root
from wengert.arrays.changes import Change
from wengert.arrays.ownership import ALONE
from wengert.graph.weights import Weight
from wengert.lazy import LazyDelta, Rows, dense
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import BelowOne, NonNegative
from wengert.plugins.rate import warn_of_unit_steps
from wengert.plugins.schedule import RATES


class AdagradOptimizer(Optimizer["Adagrad"], pure=True):
    """c ← c + d²; hands on d / (√c + ε)."""

    squares: Value = 0.0
    _late: tuple[Value, Value] | None = None  # lines of it, and what they will be

    def step(self, delta: Value, weight: Weight) -> Value:
        begun = not isinstance(self.squares, float)
        few = delta.touched() if isinstance(delta, LazyDelta) and begun else None
        if few is not None and self.settings.eps > 0:  # or where d is 0, 0 / 0 is no number
            return super().step(self._at(*few), weight)
        d = dense(delta)
        self.squares = self.squares + d * d
        return super().step(d / (root(self.squares) + self.settings.eps), weight)

    def _at(self, lines: Value, d: Value) -> LazyDelta:
        """A step where d is 0 but in these lines: neither c nor the weight changes elsewhere."""
        now = self.squares[lines] + d * d
        self._late = lines, now
        return LazyDelta([Rows(lines, d / (root(now) + self.settings.eps), self.squares.shape)])

    def _late_changes(self, alone: bool) -> list[Change]:
        others = super()._late_changes(alone)
        if self._late is None:
            return others
        # In place if only this and the optimizer before it, which will be no more, have the array: to copy a table of
        # 18,278 rows of 128 takes 1.3 ms, a tenth of what a step of 64 sentences does besides its products.
        if not (alone and getrefcount(self.squares) <= ALONE + 1 and self.squares.base is None):
            self.squares = self.squares.copy()
        (lines, now), self._late = self._late, None
        return [*others, (setitem, self.squares, lines, now)]


class Adagrad(Plugin):
    """c ← c + d², and d becomes d / (√c + ε).

    >>> from wengert.plugins import LearningRate
    >>> class Settings(Adagrad, LearningRate): ...
    >>> w = Settings(learning_rate=1.0, eps=0.0).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)], round(w.data, 6)
    ([1.0, 0.0], -0.894427)

    Source: J. Duchi, E. Hazan, Y. Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic
    Optimization", 2011.
    """

    eps: NonNegative = 1e-8
    optimizer: ClassVar[type[Optimizer]] = AdagradOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        warn_of_unit_steps(self, Adagrad)


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

    rho: BelowOne = 0.99
    eps: NonNegative = 1e-8
    optimizer: ClassVar[type[Optimizer]] = RMSpropOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        warn_of_unit_steps(self, RMSprop)


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

    rho: BelowOne = 0.9
    eps: NonNegative = 1e-6
    optimizer: ClassVar[type[Optimizer]] = AdadeltaOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES
