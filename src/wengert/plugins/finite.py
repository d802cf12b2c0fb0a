"""Refusing to learn from what is not a number.

Knows: that a loss or a delta which is infinite or NaN spoils every weight it reaches, and by that weight the others
in the next run, whatever settings they have.
Refuses to know: which operation made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from wengert.arrays import Value, is_finite
from wengert.errors import NonFiniteError
from wengert.graph.weights import Update, Weight
from wengert.lazy import dense
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin


class Refusing(Optimizer, pure=True):
    """Raises before anything changes."""

    def admit(self, loss: Value, delta: Value, weight: Weight) -> None:
        if not is_finite(loss):
            raise NonFiniteError(f"the loss is {loss}, so {weight!r} and all other weights stay as they are")
        _check(delta, weight)
        super().admit(loss, delta, weight)

    def together(self, updates: Sequence[Update]) -> None:
        """Check weights of settings without this part, which nobody else asks for."""
        for weight, delta, optimizer in updates:
            if not isinstance(optimizer, Refusing):
                _check(delta, weight)
        super().together(updates)


def _check(delta: Value, weight: Weight) -> None:
    if not is_finite(dense(delta)):
        raise NonFiniteError(
            f"the delta of {weight!r} is not finite, so it and all other weights stay as they are"
        )


class FailOnNonFinite(Plugin):
    """A run whose loss or delta is infinite or NaN fails with `NonFiniteError`, and no weight changes.

    A run in which a weight of this settings object takes part; the deltas of all its weights count, also of those
    that other settings have made.

    >>> from wengert.plugins import SGD
    >>> class Settings(FailOnNonFinite, SGD): ...
    >>> w = Settings(learning_rate=0.1).double_weight(0.0, name="w")
    >>> (w / 0.0).train().run()
    Traceback (most recent call last):
    wengert.errors.NonFiniteError: the loss is nan, so <DoubleWeight 'w' () float64> and all other ...
    """

    optimizer: ClassVar[type[Optimizer]] = Refusing
