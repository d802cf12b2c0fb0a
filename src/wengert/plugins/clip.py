"""Clipping by the norm of all deltas together.

Knows: D85; that the deltas which it measures are those that reach it, so the parts to its left are asked twice, first
on copies that are thrown away; and that a rate to its left would have it measure steps.
Refuses to know: which parts those are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from wengert.arrays import Value, is_array, namespace_of
from wengert.graph.weights import Update, Weight
from wengert.lazy import dense, scaled
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import check_number
from wengert.plugins.schedule import RATES


class Clipping(Optimizer["ClipByGlobalNorm"], pure=True):
    """d · min(1, max_norm / n); with no factor yet, it keeps what has reached it."""

    _factor: float | None = None
    _reached: Value = None

    def together(self, updates: Sequence[Update]) -> None:
        super().together(updates)
        parts = [update.optimizer for update in updates if isinstance(update.optimizer, Clipping)]
        norm = math.hypot(*[_norm(_reaching(u)) for u in updates])
        factor = self.settings.max_norm / norm if norm > self.settings.max_norm else 1.0
        for part in parts:
            part._factor = factor

    def step(self, delta: Value, weight: Weight) -> Value:
        if self._factor is None:
            self._reached = dense(delta)
            return delta
        factor, self._factor = self._factor, None
        return super().step(scaled(delta, factor), weight)


def _reaching(update: Update) -> Value:
    probe = update.optimizer.staged()
    assert isinstance(probe, Clipping), "all weights of one settings object have the same parts"
    probe.step(update.delta, update.weight)
    return probe._reached


def _norm(x: Value) -> float:
    """The 2-norm, with no square too large for the dtype; a number's is its absolute value."""
    if not is_array(x):
        return abs(float(x))
    if not x.size:
        return 0.0
    xp = namespace_of(x)
    largest = float(xp.max(xp.abs(x)))
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    return largest * math.sqrt(float(xp.sum(xp.square(x / largest))))


class ClipByGlobalNorm(Plugin):
    """d becomes d · min(1, max_norm / n); n is the 2-norm of all deltas of this settings object in the run.

    They are measured as they reach this plugin: left of `L2Regularization` without its pull, right of it with.

    >>> from wengert.plugins import LearningRate
    >>> class Settings(ClipByGlobalNorm, LearningRate): ...
    >>> settings = Settings(learning_rate=1.0, max_norm=1.0)
    >>> a, b = settings.double_weight(0.0), settings.double_weight(0.0)
    >>> (a * 3.0 + b * 4.0).train().run(), round(a.data, 6), round(b.data, 6)
    (0.0, -0.6, -0.8)

    Source: R. Pascanu, T. Mikolov, Y. Bengio, "On the difficulty of training Recurrent Neural Networks", 2013.
    """

    max_norm: float
    optimizer: ClassVar[type[Optimizer]] = Clipping
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        check_number(self, "max_norm", open_below=True)
