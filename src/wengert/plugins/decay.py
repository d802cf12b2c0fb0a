"""Weight decay: every weight shrinks by a share of itself, whatever happens to the delta.

Knows: its formula; that it needs the current rate, which exactly one other plugin has to state.
Refuses to know: whether the rate is constant, and where in the chain it stands.
"""

from __future__ import annotations

from typing import ClassVar

from wengert.arrays import Value
from wengert.graph.weights import Weight, data_of
from wengert.lazy import dense
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.ranges import check_number
from wengert.plugins.rate import Rated


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

    weight_decay: float
    optimizer: ClassVar[type[Optimizer]] = WeightDecayOptimizer

    def __post_init__(self) -> None:
        check_number(self, "weight_decay")
