"""Steps that go by the signs of deltas, not by their sizes.

Knows: the formulas of Lion and Rprop.
Refuses to know: the learning rate.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from wengert.arrays import Value, decayed, namespace_of
from wengert.graph.weights import Weight
from wengert.lazy import dense
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import BelowOne, Positive, Range
from wengert.plugins.rate import warn_of_unit_steps
from wengert.plugins.schedule import RATES


class LionOptimizer(Optimizer["Lion"], pure=True):
    """Hands on the sign of a mean of the delta and of the running mean before it."""

    direction: Value = 0.0

    def step(self, delta: Value, weight: Weight) -> Value:
        s, d = self.settings, dense(delta)
        between = s.beta1 * self.direction + (1.0 - s.beta1) * d
        self.direction = decayed(self.direction, s.beta2, (1.0 - s.beta2) * d)
        return super().step(namespace_of(d).sign(between), weight)


class Lion(Plugin):
    """d becomes sign(β₁m + (1-β₁)d), and then m ← β₂m + (1-β₂)d.

    Its rate should be 3 to 10 times smaller than Adam's, as every element moves by the whole of it; put `WeightDecay`
    beside it for the decay of the paper.
    >>> from wengert.plugins import LearningRate
    >>> class Settings(Lion, LearningRate): ...
    >>> w = Settings(learning_rate=0.25).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, -0.05, -2.0)][0], w.data
    (1.0, 0.75)

    Source: X. Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023, algorithm 2.
    """

    beta1: BelowOne = 0.9
    beta2: BelowOne = 0.99
    optimizer: ClassVar[type[Optimizer]] = LionOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        warn_of_unit_steps(self, Lion)


class RpropOptimizer(Optimizer["Rprop"], pure=True):
    """A size of step for each element, and the sign of its delta."""

    size: Value = None  # before the first step
    before: Value = 0.0

    def step(self, delta: Value, weight: Weight) -> Value:
        s, d = self.settings, dense(delta)
        xp, one = namespace_of(d), namespace_of(d).zeros_like(d) + 1.0  # of the dtype of d
        size = one * s.initial_step if self.size is None else self.size
        agrees = d * self.before
        other = xp.less(agrees, 0.0)
        factor = xp.where(other, one * s.eta_minus, xp.where(xp.greater(agrees, 0.0), one * s.eta_plus, one))
        self.size = xp.minimum(xp.maximum(size * factor, s.min_step), s.max_step)
        self.before = xp.where(other, xp.zeros_like(d), d)
        return super().step(xp.sign(self.before) * self.size, weight)


class Rprop(Plugin):
    """Each element has a step of its own, s: it grows by η₊ while the sign of d stays, up to `max_step`, and shrinks by
    η₋ when it changes, down to `min_step`; d becomes s · sign(d), and 0 where the sign has just changed.

    It needs no rate, and whole batches: with others signs change by chance.
    >>> w = Rprop(initial_step=0.5).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 3.0, -1.0, -1.0)][:2], round(w.data, 6)
    ([1.0, 1.5], 0.2)

    Source: M. Riedmiller, H. Braun, "A Direct Adaptive Method for Faster Backpropagation Learning: The RPROP
    Algorithm", 1993, without its way back; as `torch.optim.Rprop`.
    """

    eta_minus: Annotated[float, Range(below=1.0, open_below=True)] = 0.5
    eta_plus: Annotated[float, Range(least=1.0, open_below=True)] = 1.2
    initial_step: Positive = 0.01
    min_step: Positive = 1e-6
    max_step: float = 50.0
    optimizer: ClassVar[type[Optimizer]] = RpropOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        Range(least=self.min_step).check(self, "max_step")
