"""Averages of a weight over its steps: exponential, of equal parts, and the slow weights of Lookahead.

Knows: that the weight after a step is the weight before it less what all other parts have made of the delta; that an
average is a part of the optimizer's state, so it is in files, and a training goes on with it.
Refuses to know: models; `wengert.training.averages` finds those of all weights of one.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar, Final

from wengert.arrays import Value, namespace_of
from wengert.graph.weights import Weight, data_of
from wengert.lazy import dense
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import BelowOne, NonNegative, Range
from wengert.plugins.regularization import WeightDecay

AVERAGE: Final = "average"  # the name of the state


class LookaheadOptimizer(Optimizer["Lookahead"], pure=True):
    """A slow weight, which goes a part of the way that the fast one has gone, and the fast one on from there."""

    slow: Value = None  # before the first step
    since: int = 0

    def step(self, delta: Value, weight: Weight) -> Value:
        s, fast, step = self.settings, data_of(weight), dense(super().step(delta, weight))
        slow = fast + 0.0 if self.slow is None else self.slow
        self.since = self.since + 1
        xp = namespace_of(self.since)
        meets = xp.where(xp.equal(xp.remainder(self.since, s.every), 0), 1.0, 0.0)
        self.slow = slow + meets * s.share * (fast - step - slow)
        return (1.0 - meets) * step + meets * (fast - self.slow)


class Lookahead(Plugin):
    """Each `every` steps the slow weight s goes a `share` of the way to w, s ← s + share · (w - s), and w becomes s.

    s begins as the weight. It stands left of `WeightDecay` and right of averages.
    >>> from wengert.plugins import SGD
    >>> class Settings(Lookahead, SGD): ...
    >>> w = Settings(learning_rate=1.0, every=2, share=0.5).double_weight(0.0)
    >>> [(w * d).train().run() for d in (-1.0, -1.0, -1.0)][1:], w.data
    ([-1.0, -1.0], 2.0)

    Source: M. Zhang et al., "Lookahead Optimizer: k steps forward, 1 step back", 2019.
    """

    every: Annotated[int, Range(least=1.0)] = 5
    share: NonNegative = 0.5
    optimizer: ClassVar[type[Optimizer]] = LookaheadOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = (WeightDecay,)


class Averaged(Plugin):
    """Base of a plugin that gives each weight an average: settings have one such plugin."""

    @property
    @abstractmethod
    def average_is(self) -> str:
        """Description of the average."""


class ExponentialMovingAverageOptimizer(Optimizer["ExponentialMovingAverage"], pure=True):
    """a ← decay · a + (1 - decay) · w, of the w after each step."""

    average: Value = None  # before the first step

    def step(self, delta: Value, weight: Weight) -> Value:
        decay, step = self.settings.decay_of_average, dense(super().step(delta, weight))
        now = data_of(weight) - step
        self.average = now if self.average is None else decay * self.average + (1.0 - decay) * now
        return step


class ExponentialMovingAverage(Averaged):
    """Besides its steps, each weight has an average a: the first w, then a ← β a + (1-β) w after each step.

    β is `decay_of_average`. `wengert.training.averages(model)` gives the averages, for `predict(at=...)` and `assign`.
    It stands left of `WeightDecay` and of `Lookahead`.
    >>> from wengert.plugins import SGD
    >>> from wengert.training import averages
    >>> class Settings(ExponentialMovingAverage, SGD): ...
    >>> w = Settings(learning_rate=1.0, decay_of_average=0.5).double_weight(0.0)
    >>> for d in (1.0, 2.0): value = (w * d).train().run()
    >>> w.data, list(averages([w]).values())
    (-3.0, [-2.0])

    Source: B. Polyak, A. Juditsky, "Acceleration of Stochastic Approximation by Averaging", 1992;
    `torch.optim.swa_utils.get_ema_multi_avg_fn`.
    """

    decay_of_average: BelowOne = 0.999
    optimizer: ClassVar[type[Optimizer]] = ExponentialMovingAverageOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = (WeightDecay, Lookahead)

    @property
    def average_is(self) -> str:
        return f"exponential, by {self.decay_of_average:g}"


class StochasticWeightAveragingOptimizer(Optimizer["StochasticWeightAveraging"], pure=True):
    """The mean of the w after some of the steps."""

    average: Value = 0.0
    steps: int = 0
    averaged: float = 0.0  # how many are in the mean

    def step(self, delta: Value, weight: Weight) -> Value:
        s, step = self.settings, dense(super().step(delta, weight))
        now = data_of(weight) - step
        xp = namespace_of(self.averaged)
        chosen = xp.logical_and(
            xp.greater_equal(self.steps, s.average_from),
            xp.equal(xp.remainder(self.steps - s.average_from, s.average_every), 0),
        )
        self.steps += 1
        one = xp.where(chosen, 1.0, 0.0)
        self.averaged = self.averaged + one
        self.average = self.average + one / xp.maximum(self.averaged, 1.0) * (now - self.average)
        return step


class StochasticWeightAveraging(Averaged):
    """Besides its steps, each weight has the mean of itself after step `average_from`, and each `average_every` later.

    Steps count from 0. `wengert.training.averages(model)` gives the means, for `predict(at=...)` and `assign`; 0 before
    the first one. Running statistics, as of BatchNorm, are those of the weights that were trained. It stands left of
    `WeightDecay`.
    >>> from wengert.plugins import SGD
    >>> from wengert.training import averages
    >>> class Settings(StochasticWeightAveraging, SGD): ...
    >>> w = Settings(learning_rate=1.0, average_from=1, average_every=2).double_weight(0.0)
    >>> for d in (1.0, 1.0, 1.0, 1.0): value = (w * d).train().run()
    >>> w.data, list(averages([w]).values())
    (-4.0, [-3.0])

    Source: P. Izmailov et al., "Averaging Weights Leads to Wider Optima and Better Generalization", 2018.
    """

    average_from: Annotated[int, Range()]
    average_every: Annotated[int, Range(least=1.0)] = 1
    optimizer: ClassVar[type[Optimizer]] = StochasticWeightAveragingOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = (WeightDecay, Lookahead)

    @property
    def average_is(self) -> str:
        return f"the mean from step {self.average_from} on"
