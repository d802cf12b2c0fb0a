"""Adam and its relatives: steps scaled by running moments of the deltas.

Knows: the formulas of Adam, Adamax, NAdam, RAdam and AMSGrad, that AdamW is Adam with a weight decay, and that a
learning rate to their left would have no effect.
Refuses to know: the learning rate.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Protocol

from wengert.arrays import Value, decayed, namespace_of, root
from wengert.generics import TypeVar
from wengert.graph.weights import Weight
from wengert.lazy import dense
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import BelowOne, NonNegative, Range
from wengert.plugins.rate import warn_of_unit_steps
from wengert.plugins.regularization import WeightDecay
from wengert.plugins.schedule import RATES


class _Betas(Protocol):
    @property
    def beta1(self) -> float: ...
    @property
    def beta2(self) -> float: ...


B = TypeVar("B", bound=_Betas)


class Moments(Optimizer[B], pure=True):
    """Base of parts with a running mean and a running mean square of the deltas."""

    count: int = 0
    mean: Value = 0.0
    square: Value = 0.0

    def take(self, delta: Value) -> Value:
        """The delta as an array, after which the moments are those with it."""
        s, d = self.settings, dense(delta)
        self.count += 1
        self.mean = decayed(self.mean, s.beta1, (1.0 - s.beta1) * d)
        self.square = decayed(self.square, s.beta2, (1.0 - s.beta2) * (d * d))
        return d


class AdamOptimizer(Moments["Adam"], pure=True):
    """Hands on the quotient of the moments, corrected for their beginning at 0."""

    def step(self, delta: Value, weight: Weight) -> Value:
        self.take(delta)
        s = self.settings
        mean = self.mean / (1.0 - s.beta1**self.count)
        square = self.square / (1.0 - s.beta2**self.count)
        return super().step(mean / (root(square) + s.eps), weight)


class Adam(Plugin):
    """t ← t + 1; m ← β₁m + (1-β₁)d; v ← β₂v + (1-β₂)d²; d becomes (m/(1-β₁ᵗ)) / (√(v/(1-β₂ᵗ)) + ε).

    >>> from wengert.plugins import LearningRate
    >>> class Settings(Adam, LearningRate): ...
    >>> w = Settings(learning_rate=1.0, eps=0.0).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)], round(w.data, 6)
    ([1.0, 0.0], -0.965182)

    Source: D. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1.
    """

    beta1: BelowOne = 0.9
    beta2: BelowOne = 0.999
    eps: NonNegative = 1e-8
    optimizer: ClassVar[type[Optimizer]] = AdamOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        warn_of_unit_steps(self, Adam)


class AMSGradOptimizer(Moments["AMSGrad"], pure=True):
    """As `AdamOptimizer`, with the greatest mean square so far."""

    greatest: Value = 0.0

    def step(self, delta: Value, weight: Weight) -> Value:
        self.take(delta)
        s = self.settings
        self.greatest = namespace_of(self.square).maximum(self.greatest, self.square)
        mean = self.mean / (1.0 - s.beta1**self.count)
        square = self.greatest / (1.0 - s.beta2**self.count)
        return super().step(mean / (root(square) + s.eps), weight)


class AMSGrad(Plugin):
    """As Adam; u ← max(u, v) stands in the place of v: d becomes (m/(1-β₁ᵗ)) / (√(u/(1-β₂ᵗ)) + ε).

    >>> from wengert.plugins import LearningRate
    >>> class Settings(AMSGrad, LearningRate): ...
    >>> w = Settings(learning_rate=1.0, eps=0.0).double_weight(1.0)
    >>> [(w * d).train().run() for d in (2.0, 0.0)], round(w.data, 6)
    ([2.0, 0.0], -0.669723)

    Source: S. Reddi, S. Kale, S. Kumar, "On the Convergence of Adam and Beyond", 2018; with the correction of Adam, as
    `torch.optim.Adam(amsgrad=True)` has it.
    """

    beta1: BelowOne = 0.9
    beta2: BelowOne = 0.999
    eps: NonNegative = 1e-8
    optimizer: ClassVar[type[Optimizer]] = AMSGradOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        warn_of_unit_steps(self, AMSGrad)


class AdamaxOptimizer(Optimizer["Adamax"], pure=True):
    """Running mean and running maximum of the deltas."""

    count: int = 0
    mean: Value = 0.0
    greatest: Value = 0.0

    def step(self, delta: Value, weight: Weight) -> Value:
        s, d = self.settings, dense(delta)
        xp = namespace_of(d)
        self.count += 1
        self.mean = decayed(self.mean, s.beta1, (1.0 - s.beta1) * d)
        self.greatest = xp.maximum(s.beta2 * self.greatest, xp.abs(d) + s.eps)
        return super().step(self.mean / (1.0 - s.beta1**self.count) / self.greatest, weight)


class Adamax(Plugin):
    """t ← t + 1; m ← β₁m + (1-β₁)d; u ← max(β₂u, |d| + ε); d becomes (m/(1-β₁ᵗ)) / u.

    >>> from wengert.plugins import LearningRate
    >>> class Settings(Adamax, LearningRate): ...
    >>> w = Settings(learning_rate=1.0, eps=0.0).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)], round(w.data, 6)
    ([1.0, 0.0], -0.763158)

    Source: D. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 2; ε as in PyTorch.
    """

    beta1: BelowOne = 0.9
    beta2: BelowOne = 0.999
    eps: NonNegative = 1e-8
    optimizer: ClassVar[type[Optimizer]] = AdamaxOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        warn_of_unit_steps(self, Adamax)


class NAdamOptimizer(Moments["NAdam"], pure=True):
    """The moments of Adam, the first one looked ahead by the next momentum."""

    product: float = 1.0  # of all momenta so far

    def step(self, delta: Value, weight: Weight) -> Value:
        d = self.take(delta)
        s = self.settings
        now, then = (
            s.beta1 * (1.0 - 0.5 * 0.96 ** (t * s.momentum_decay)) for t in (self.count, self.count + 1)
        )
        self.product = self.product * now
        below = root(self.square / (1.0 - s.beta2**self.count)) + s.eps
        ahead = then / (1.0 - self.product * then) * self.mean + (1.0 - now) / (1.0 - self.product) * d
        return super().step(ahead / below, weight)


class NAdam(Plugin):
    """Adam with Nesterov's momentum: m and v as Adam's, μₜ = β₁(1 - 0.96^(tψ)/2), and d becomes
    (μₜ₊₁m/(1-μ₁…μₜ₊₁) + (1-μₜ)d/(1-μ₁…μₜ)) / (√(v/(1-β₂ᵗ)) + ε), where ψ is `momentum_decay`.

    >>> from wengert.plugins import LearningRate
    >>> class Settings(NAdam, LearningRate): ...
    >>> w = Settings(learning_rate=1.0, eps=0.0).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)][0], round(w.data, 6)
    (1.0, -1.019399)

    Source: T. Dozat, "Incorporating Nesterov Momentum into Adam", 2016.
    """

    beta1: BelowOne = 0.9
    beta2: BelowOne = 0.999
    eps: NonNegative = 1e-8
    momentum_decay: NonNegative = 4e-3
    optimizer: ClassVar[type[Optimizer]] = NAdamOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        warn_of_unit_steps(self, NAdam)


class RAdamOptimizer(Moments["RAdam"], pure=True):
    """The moments of Adam; the second one only where so many deltas are in it that its variance is known."""

    def step(self, delta: Value, weight: Weight) -> Value:
        self.take(delta)
        s, xp = self.settings, namespace_of(self.count)
        late = 1.0 - s.beta2**self.count
        most = 2.0 / (1.0 - s.beta2) - 1.0
        length = most - 2.0 * self.count * s.beta2**self.count / late
        known = xp.maximum(length, 5.0)  # below 5 its square root is not used, and may be none
        rectified = root((known - 4.0) * (known - 2.0) * most / ((most - 4.0) * (most - 2.0) * known))
        mean = self.mean / (1.0 - s.beta1**self.count)
        scaled = rectified * root(late) / (root(self.square) + s.eps)
        trusted = xp.where(xp.greater(length, 5.0), 1.0, 0.0)
        return super().step(mean * (trusted * scaled + (1.0 - trusted)), weight)


class RAdam(Plugin):
    """m and v as Adam's; ρ∞ = 2/(1-β₂) - 1, ρ = ρ∞ - 2tβ₂ᵗ/(1-β₂ᵗ); d becomes m/(1-β₁ᵗ), times
    √((ρ-4)(ρ-2)ρ∞ / ((ρ∞-4)(ρ∞-2)ρ)) · √(1-β₂ᵗ) / (√v + ε) where ρ > 5.

    PluginError for a beta2 up to 0.6, with which ρ∞ is not above 4.
    >>> from wengert.plugins import LearningRate
    >>> class Settings(RAdam, LearningRate): ...
    >>> w = Settings(learning_rate=1.0).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)][0], round(w.data, 6)
    (1.0, -1.526316)

    Source: L. Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", 2020, algorithm 2.
    """

    beta1: BelowOne = 0.9
    beta2: Annotated[BelowOne, Range(least=0.6, open_below=True, below=1.0)] = 0.999
    eps: NonNegative = 1e-8
    optimizer: ClassVar[type[Optimizer]] = RAdamOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        warn_of_unit_steps(self, RAdam)


class AdamW(Adam, WeightDecay):
    """Adam and WeightDecay in one.

    >>> from wengert.plugins import LearningRate
    >>> class Settings(AdamW, LearningRate): ...
    >>> w = Settings(learning_rate=1.0, weight_decay=0.1, eps=0.0).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)][0], round(w.data, 6)
    (1.0, -1.055182)

    Source: I. Loshchilov, F. Hutter, "Decoupled Weight Decay Regularization", 2019, algorithm 2.
    """
