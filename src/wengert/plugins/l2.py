"""L2 regularization: a pull towards zero that grows with the weight.

Knows: its formula, and that a rate to its left would leave the pull without it.
Refuses to know: the loss.
"""

from __future__ import annotations

from typing import ClassVar

from wengert.arrays import Value
from wengert.graph.weights import Weight, data_of
from wengert.lazy import dense
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import check_number
from wengert.plugins.schedule import RATES


class L2RegularizationOptimizer(Optimizer["L2Regularization"], pure=True):
    """d + l2 · w."""

    def step(self, delta: Value, weight: Weight) -> Value:
        return super().step(dense(delta) + self.settings.l2 * data_of(weight), weight)


class L2Regularization(Plugin):
    """d becomes d + l2 · w, as if the loss had the summand l2 / 2 · Σw².

    Left of Adam the pull is scaled as every delta is; `WeightDecay` is the one that is not.

    >>> from wengert.plugins import LearningRate
    >>> class Settings(L2Regularization, LearningRate): ...
    >>> w = Settings(learning_rate=1.0, l2=0.1).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)][0], round(w.data, 6)
    (1.0, -2.09)

    Source: A. Hoerl, R. Kennard, "Ridge Regression: Biased Estimation for Nonorthogonal Problems", 1970.
    """

    l2: float
    optimizer: ClassVar[type[Optimizer]] = L2RegularizationOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        check_number(self, "l2")
