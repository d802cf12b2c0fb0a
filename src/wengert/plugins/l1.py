"""L1 regularization: a constant pull towards zero.

Knows: its formula, and that a rate to its left would leave the pull without it.
Refuses to know: the loss.
"""

from __future__ import annotations

from typing import ClassVar

from wengert.arrays import Value, namespace_of
from wengert.graph.weights import Weight, data_of
from wengert.lazy import dense
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import check_number
from wengert.plugins.schedule import RATES


class L1RegularizationOptimizer(Optimizer["L1Regularization"], pure=True):
    """d + l1 · sign(w)."""

    def step(self, delta: Value, weight: Weight) -> Value:
        data = data_of(weight)
        return super().step(dense(delta) + self.settings.l1 * namespace_of(data).sign(data), weight)


class L1Regularization(Plugin):
    """d becomes d + l1 · sign(w), as if the loss had the summand l1 · Σ|w|; at 0 the sign is 0.

    >>> from wengert.plugins import LearningRate
    >>> class Settings(L1Regularization, LearningRate): ...
    >>> w = Settings(learning_rate=1.0, l1=0.1).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)][0], round(w.data, 6)
    (1.0, -2.0)

    Source: R. Tibshirani, "Regression Shrinkage and Selection via the Lasso", 1996.
    """

    l1: float
    optimizer: ClassVar[type[Optimizer]] = L1RegularizationOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        check_number(self, "l1")
