"""Pulls towards zero: L1 and L2 regularization, and a weight decay that no other part scales.

Knows: their formulas, and that a rate to the left of a regularization would leave its pull without it.
Refuses to know: the loss, and who computes the rate.
"""

from __future__ import annotations

from typing import ClassVar

from wengert.arrays import Value, namespace_of
from wengert.graph.weights import Weight, data_of
from wengert.lazy import dense
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import NonNegative
from wengert.plugins.rate import Rated
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

    l1: NonNegative
    optimizer: ClassVar[type[Optimizer]] = L1RegularizationOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES


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

    l2: NonNegative
    optimizer: ClassVar[type[Optimizer]] = L2RegularizationOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES


class WeightDecayOptimizer(Optimizer["WeightDecay"], pure=True):
    """Adds to the finished step, so that no other part scales the decay."""

    def step(self, delta: Value, weight: Weight) -> Value:
        share = self.settings.rate * self.settings.weight_decay
        return dense(super().step(delta, weight)) + share * data_of(weight)


class WeightDecay(Rated):
    """Besides its step, w ← w - rate · weight_decay · w, with the w before the step; wherever it stands.

    The rate is that of `LearningRate` or `LearningRateSchedule`; `PluginError` without, or with both.

    >>> from wengert.plugins import LearningRate
    >>> class Settings(WeightDecay, LearningRate): ...
    >>> w = Settings(learning_rate=1.0, weight_decay=0.1).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)][0], round(w.data, 6)
    (1.0, -2.09)

    Source: I. Loshchilov, F. Hutter, "Decoupled Weight Decay Regularization", 2019, algorithm 1.
    """

    weight_decay: NonNegative
    optimizer: ClassVar[type[Optimizer]] = WeightDecayOptimizer
