"""Clipping: element by element, by the norm of each weight's delta, by the norm of all deltas of a commit.

Knows: that deltas are measured as they reach a part, so for the norm of all the parts to the left are asked twice,
first on copies that are thrown away; that the weights of several settings objects have one norm; and that a rate to its
left would have it measure steps.
Refuses to know: which parts those are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import ClassVar, Self

from wengert.arrays import Value, namespace_of
from wengert.graph.weights import Update, Weight
from wengert.lazy import LazyDelta, Rows, dense, scaled
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import Positive
from wengert.plugins.rate import Clip
from wengert.plugins.schedule import RATES


class ClipByGlobalNormOptimizer(Optimizer["ClipByGlobalNorm"], pure=True):
    """d · max_norm / max(n, max_norm); a copy that measures hands nothing on, and keeps what has reached it."""

    within_plans = True
    _norms: tuple[Value, ...] = ()  # of the deltas of each settings object of the commit
    _measures: bool = False
    _reached: Value = 0.0  # where a part to the left hands nothing on
    _whole: Value = None  # what reaches it, if that is known already

    def staged(self) -> Self:
        copy = super().staged()
        copy._norms, copy._whole = (), None  # those of the commit before
        return copy

    def together(self, updates: Sequence[Update]) -> None:
        """Tell the parts of all settings objects what the norm of the deltas of this one is."""
        super().together(updates)
        parts = [(u.optimizer, u) for u in updates if isinstance(u.optimizer, ClipByGlobalNormOptimizer)]
        own = [(part, u) for part, u in parts if part.settings is self.settings]
        norm = _total([part._measured(u.delta, u.weight) for part, u in own])
        for part, _ in parts:
            part._norms += (norm,)

    def _measured(self, delta: Value, weight: Weight) -> Value:
        """The norm of what reaches this part, which is asked once more if it is sparse or may change."""
        probe = self.staged()
        probe._measures = True
        probe.step(delta, weight)
        reached = probe._reached
        whole = dense(reached)
        if self.pure and not (isinstance(reached, LazyDelta) and isinstance(reached.first, Rows)):
            self._whole = whole  # a product, say, is computed once
        return namespace_of(whole).two_norm(whole)

    def step(self, delta: Value, weight: Weight) -> Value:
        if self._measures:
            self._reached = delta
            return delta
        norm, most = _total(self._norms), self.settings.max_norm
        whole, self._whole = delta if self._whole is None else self._whole, None
        return super().step(scaled(whole, most / namespace_of(norm).maximum(norm, most)), weight)


def _total(norms: Sequence[Value]) -> Value:
    """The norm of all, of the norms of parts."""
    return reduce(lambda a, b: namespace_of(a).hypot(a, b), norms)


class ClipByGlobalNorm(Clip):
    """d becomes d · min(1, max_norm / n); n is the 2-norm of all deltas of the commit that reach this plugin.

    One norm for the weights of all settings objects with this plugin, so groups of weights with other rates or decay
    are clipped as one network; each by its own `max_norm`, where these differ. Weights of settings without the plugin
    are neither measured nor clipped. Deltas are measured as they reach the plugin: left of `L2Regularization` without
    its pull, right of it with.

    >>> from wengert.plugins import LearningRate
    >>> class Settings(ClipByGlobalNorm, LearningRate): ...
    >>> settings = Settings(learning_rate=1.0, max_norm=1.0)
    >>> a, b = settings.double_weight(0.0), settings.double_weight(0.0)
    >>> (a * 3.0 + b * 4.0).train().run(), round(a.data, 6), round(b.data, 6)
    (0.0, -0.6, -0.8)
    >>> c, d = (Settings(learning_rate=rate, max_norm=1.0).double_weight(0.0) for rate in (1.0, 0.5))
    >>> (c * 3.0 + d * 4.0).train().run(), round(c.data, 6), round(d.data, 6)
    (0.0, -0.6, -0.4)

    `torch.nn.utils.clip_grad_norm_` on the parameters of all groups does the same, up to the 1e-6 that it adds to n.

    Source: R. Pascanu, T. Mikolov, Y. Bengio, "On the difficulty of training Recurrent Neural Networks", 2013.
    """

    max_norm: Positive
    optimizer: ClassVar[type[Optimizer]] = ClipByGlobalNormOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES


class ClipByValueOptimizer(Optimizer["ClipByValue"], pure=True):
    """min(max(d, -c), c)."""

    def step(self, delta: Value, weight: Weight) -> Value:
        d, most = dense(delta), self.settings.max_value
        xp = namespace_of(d)
        return super().step(xp.minimum(xp.maximum(d, -most), most), weight)


class ClipByValue(Clip):
    """Each element of d becomes min(max(d, -max_value), max_value).

    >>> from wengert.plugins import LearningRate
    >>> class Settings(ClipByValue, LearningRate): ...
    >>> w = Settings(learning_rate=1.0, max_value=0.5).double_weight(0.0)
    >>> (w * 3.0).train().run(), w.data
    (0.0, -0.5)

    `torch.nn.utils.clip_grad_value_` does the same.

    Source: T. Mikolov, "Statistical Language Models Based on Neural Networks", 2012, section 3.2.2.
    """

    max_value: Positive
    optimizer: ClassVar[type[Optimizer]] = ClipByValueOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES


class ClipByNormOptimizer(Optimizer["ClipByNorm"], pure=True):
    """d · min(1, c / |d|)."""

    def step(self, delta: Value, weight: Weight) -> Value:
        most = self.settings.max_norm_of_weight
        whole = dense(delta)
        norm = namespace_of(whole).two_norm(whole)
        return super().step(scaled(delta, most / namespace_of(norm).maximum(norm, most)), weight)


class ClipByNorm(Clip):
    """d becomes d · min(1, c / |d|), for each weight alone; c is `max_norm_of_weight`, |d| the 2-norm.

    >>> from wengert.plugins import LearningRate
    >>> class Settings(ClipByNorm, LearningRate): ...
    >>> settings = Settings(learning_rate=1.0, max_norm_of_weight=1.0)
    >>> a, b = settings.double_weight(0.0), settings.double_weight(0.0)
    >>> (a * 3.0 + b * 0.5).train().run(), a.data, b.data
    (0.0, -1.0, -0.5)

    Source: R. Pascanu, T. Mikolov, Y. Bengio, "On the difficulty of training Recurrent Neural Networks", 2013.
    """

    max_norm_of_weight: Positive
    optimizer: ClassVar[type[Optimizer]] = ClipByNormOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES
