"""The learning rate: the last factor of a step.

Knows: its formula, and that others may ask what the rate is now, whoever says it.
Refuses to know: what stands to its left.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import ClassVar

from wengert.arrays import Value
from wengert.generics import TypeVar
from wengert.graph.weights import Weight
from wengert.lazy import scaled
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import NonNegative
from wengert.site import user_frame


class Rated(Plugin):
    """Base of a plugin that needs the current rate: exactly one other plugin has to state it."""

    @property
    @abstractmethod
    def rate(self) -> float:
        """The factor of the present step."""


R = TypeVar("R", bound=Rated, default=Rated)


class Scaled(Optimizer[R], pure=True):
    """step = rate · d, which stays lazy if d is."""

    def step(self, delta: Value, weight: Weight) -> Value:
        return super().step(scaled(delta, self.settings.rate), weight)


class Clip(Plugin):
    """Base of plugins that bound derivatives; right of an optimizer whose steps are about 1 they bound its steps."""


def warn_of_unit_steps(settings: Plugin, plugin: type[Plugin]) -> None:
    """Warn, on the user's line, of settings whose steps of about 1 nothing scales, or a clip bounds.

    >>> import warnings
    >>> from wengert.plugins import Adam
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     settings = Adam()
    >>> print(found[0].message)
    Adam: a step of Adam is about 1, and no learning rate scales it; write `class Settings(Adam, LearningRate)`
    """
    made, name = type(settings), plugin.__name__
    if not isinstance(settings, Rated):
        _warn(
            f"{made.__name__}: a step of {name} is about 1, and no learning rate scales it; "
            f"write `class Settings({name}, LearningRate)`"
        )
    right = made.__mro__[made.__mro__.index(plugin) :]
    clip = next((other for other in right if Clip in other.__bases__), None)
    if clip is not None:
        _warn(
            f"{made.__name__}: {clip.__name__} stands right of {name} and bounds its steps, which are about 1 "
            f"whatever the derivatives are; to bound derivatives write it on the left, "
            f"`class Settings({clip.__name__}, {name}, LearningRate)`"
        )


def _warn(message: str) -> None:
    frame = user_frame()
    warnings.warn_explicit(message, UserWarning, frame.f_code.co_filename, frame.f_lineno)


class LearningRate(Rated):
    """w ← w - learning_rate · d.

    >>> w = LearningRate(learning_rate=0.5).double_weight(2.0)
    >>> (w * w).train().run(), w.data
    (4.0, 0.0)

    Source: H. Robbins, S. Monro, "A Stochastic Approximation Method", 1951.
    """

    learning_rate: NonNegative
    optimizer: ClassVar[type[Optimizer]] = Scaled

    @property
    def rate(self) -> float:
        return self.learning_rate


class SGD(LearningRate):
    """Stochastic gradient descent: the learning rate alone, w ← w - learning_rate · d.

    >>> w = SGD(learning_rate=0.5).double_weight(2.0)
    >>> (w * w).train().run(), w.data
    (4.0, 0.0)

    Source: as `LearningRate`.
    """
