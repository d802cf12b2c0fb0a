"""Steps that a whole weight decides: by its norm, by its rows and columns, by its singular vectors.

Knows: the formulas of LAMB, Adafactor and Muon.
Refuses to know: how weights make a layer; each is looked at alone.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from wengert.arrays import Value, decayed, dtype_of, is_array, namespace_of, root, shape_of
from wengert.errors import ShapeError
from wengert.graph.weights import Weight, data_of
from wengert.lazy import dense
from wengert.plugins.adam import Moments
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import BelowOne, NonNegative, Positive, Range
from wengert.plugins.rate import Rated, warn_of_unit_steps
from wengert.plugins.schedule import RATES


def _norm(x: Value, rank: int) -> Value:
    """The 2-norm of all elements."""
    xp = namespace_of(x)
    return root(xp.sum(xp.square(x))) if rank else xp.abs(x)


class LAMBOptimizer(Moments["LAMB"], pure=True):
    """Adam's step with the decay, scaled to the norm of the weight."""

    def step(self, delta: Value, weight: Weight) -> Value:
        d = self.take(delta)
        s, w, rank = self.settings, data_of(weight), len(shape_of(d))
        mean = self.mean / (1.0 - s.beta1**self.count)
        square = self.square / (1.0 - s.beta2**self.count)
        r = mean / (root(square) + s.eps) + s.decay * w
        of_weight, of_step = _norm(w, rank), _norm(r, rank)
        xp = namespace_of(of_weight)
        usual = xp.logical_and(xp.greater(of_weight, 0.0), xp.greater(of_step, 0.0))
        ratio = xp.where(
            usual, of_weight / xp.where(usual, of_step, of_step + 1.0), xp.zeros_like(of_weight) + 1.0
        )
        return super().step(r * ratio, weight)


class LAMB(Plugin):
    """r = (m/(1-β₁ᵗ)) / (√(v/(1-β₂ᵗ)) + ε) + decay · w, with the m and v of Adam; d becomes r · |w| / |r|.

    The factor is 1 where one of the norms is 0. Each weight is a layer of the paper.
    >>> from wengert.plugins import LearningRate
    >>> class Settings(LAMB, LearningRate): ...
    >>> w = Settings(learning_rate=0.5, eps=0.0).double_weight(2.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)][0], round(w.data, 6)
    (2.0, 0.5)

    Source: Y. You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes", 2020, algorithm 2.
    """

    beta1: BelowOne = 0.9
    beta2: BelowOne = 0.999
    eps: NonNegative = 1e-6
    decay: NonNegative = 0.0
    optimizer: ClassVar[type[Optimizer]] = LAMBOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        warn_of_unit_steps(self, LAMB)


class AdafactorOptimizer(Optimizer["Adafactor"], pure=True):
    """Mean squares of rows and of columns, whose product stands for those of elements."""

    reduced: ClassVar[frozenset[str]] = frozenset({"rows", "columns"})
    steps_so_far: int = 0
    rows: Value = 0.0
    columns: Value = 0.0
    whole: Value = 0.0

    def step(self, delta: Value, weight: Weight) -> Value:
        s, d, w = self.settings, dense(delta), data_of(weight)
        shape = shape_of(d)
        xp, size = namespace_of(d), math.prod(shape)
        tiny = _EPSILON[str(dtype_of(d))] if is_array(d) or shape else _EPSILON["float32"]
        self.steps_so_far += 1
        share = self.steps_so_far**-s.beta2_decay
        if len(shape) > 1:
            self.rows = self.rows + share * (xp.mean(xp.square(d), axis=-1, keepdims=True) - self.rows)
            self.columns = self.columns + share * (
                xp.mean(xp.square(d), axis=-2, keepdims=True) - self.columns
            )
            whole = xp.maximum(xp.mean(self.rows, axis=-2, keepdims=True), tiny)
            square = self.rows * self.columns / whole
        else:
            self.whole = self.whole + share * (xp.square(d) - self.whole)
            square = self.whole
        update = d / root(xp.maximum(square, tiny * tiny))
        rms = _norm(update, len(shape)) / (size**0.5 * s.threshold)
        scale = namespace_of(rms).maximum(_norm(w, len(shape)) / size**0.5, s.eps)
        late = self._late()
        return super().step(update * (scale * late / namespace_of(rms).maximum(rms, 1.0)), weight)

    def _late(self) -> Value:
        """The least of 1 and of 1 / √t in rates."""
        rate = self.settings.rate
        xp = namespace_of(rate)
        some = xp.where(xp.equal(rate, 0.0), 1.0, rate)
        late = namespace_of(self.steps_so_far).minimum(1.0 / some * self.steps_so_far**-0.5, 1.0)
        return xp.where(xp.equal(rate, 0.0), 1.0, late)


_EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}


class Adafactor(Rated):
    """d / √v, where v of a matrix is a product of mean squares of rows and of columns: memory for those only.

    1-β₂ = t^-0.8 (`beta2_decay`); r ← β₂r + (1-β₂) mean of rows of d², c of columns, v = r c / mean(r), of a vector the
    running mean of d²; u = d / √max(v, ε₁²), and d becomes u · max(rms(w), eps) / max(1, rms(u) / threshold) ·
    min(1, 1 / (rate √t)), so that a step is of the rate or of 1/√t, whichever is less. ε₁ is that of the dtype.

    The rate is that of `LearningRate` or `LearningRateSchedule`; PyTorch's is 0.01.
    >>> import numpy as np, wengert as wg
    >>> from wengert.plugins import LearningRate
    >>> class Settings(Adafactor, LearningRate): ...
    >>> w = Settings(learning_rate=0.5).array_weight(np.array([[1.0, 2.0]]))
    >>> float(wg.sum(w * 3.0).train().run()), w.data.round(4).tolist()
    (9.0, [[0.2094, 1.2094]])

    Source: N. Shazeer, M. Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", 2018, algorithms 4
    and 5, as `torch.optim.Adafactor` has them.
    """

    beta2_decay: Positive = 0.8
    eps: NonNegative = 1e-3
    threshold: Positive = 1.0
    optimizer: ClassVar[type[Optimizer]] = AdafactorOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES


class MuonOptimizer(Optimizer["Muon"], pure=True):
    """A matrix whose singular values are near 1, with the singular vectors of a running mean of the deltas."""

    moving: Value = 0.0

    def step(self, delta: Value, weight: Weight) -> Value:
        s, d = self.settings, dense(delta)
        shape = shape_of(d)
        if len(shape) != 2:
            raise ShapeError(
                f"Muon steps matrices, and {weight!r} has shape {shape}; make it with other settings, such as those "
                f"of AdamW"
            )
        xp = namespace_of(d)
        self.moving = decayed(self.moving, s.momentum, (1.0 - s.momentum) * d)
        x = (1.0 - s.momentum) * d + s.momentum * self.moving if s.nesterov else self.moving
        tall = shape[0] > shape[1]
        x = xp.swap_last(x) if tall else x
        norm = _norm(x, 2)
        some = xp.greater(norm, 2.0**-60)  # the products of products of smaller ones are subnormal
        x = x / xp.where(some, xp.maximum(norm, 1e-7), math.inf)
        for _ in range(s.iterations):
            gram = xp.matmul(x, xp.swap_last(x))
            x = 3.4445 * x + xp.matmul(-4.7750 * gram + 2.0315 * xp.matmul(gram, gram), x)
        x = xp.swap_last(x) if tall else x
        return super().step(x * max(1.0, shape[0] / shape[1]) ** 0.5, weight)


class Muon(Plugin):
    """m ← μm + (1-μ)d; x = (1-μ)d + μm with `nesterov`, else m; d becomes √max(1, rows / columns) · UVᵀ for x = USVᵀ,
    nearly: five iterations of Newton and Schulz bring each singular value to between 0.7 and 1.2.

    For matrices; ShapeError in the step of another weight, which needs other settings. The iterations are computed in
    the dtype of the weight; PyTorch computes them in bfloat16, and is 1 % away from these.
    >>> import numpy as np, wengert as wg
    >>> from wengert.plugins import LearningRate
    >>> class Settings(Muon, LearningRate): ...
    >>> w = Settings(learning_rate=1.0).array_weight(np.zeros((2, 2)))
    >>> float(wg.sum(w * np.diag([5.0, 1.0])).train().run()), np.abs(np.diag(w.data)).round(2).tolist()
    (0.0, [0.72, 0.8])

    Source: K. Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024.
    """

    momentum: BelowOne = 0.95
    nesterov: bool = True
    iterations: Annotated[int, Range(below=100.0)] = 5
    optimizer: ClassVar[type[Optimizer]] = MuonOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        warn_of_unit_steps(self, Muon)
