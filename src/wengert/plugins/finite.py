"""FailOnNonFiniteOptimizer to learn from what is not a number.

Knows: that a loss or a delta which is infinite or NaN spoils every weight it reaches, and by that weight the others
in the next run, whatever settings they have.
Refuses to know: which operation made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NoReturn

from wengert.arrays import Value, are_finite
from wengert.errors import NonFiniteError
from wengert.graph.weights import Weight, update_of
from wengert.lazy import dense
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin


class FailOnNonFiniteOptimizer(Optimizer, pure=True):
    """Raises before anything changes; a plan asks at once, and leaves the error to a run by the interpreter."""

    within_plans = True
    only_finite = True

    def admit_all(self, loss: Value, deltas: Sequence[tuple[Weight, Value]]) -> None:
        mine = [weight for weight, _ in deltas if isinstance(weight.optimizer, FailOnNonFiniteOptimizer)]
        if mine[0].settings is self.settings:  # the first speaks for all, those of other settings among them
            arrays = [(weight, dense(delta)) for weight, delta in deltas]
            if not are_finite([loss, *(x for _, x in arrays)]):
                _refuse(loss, mine[0], arrays)
        super().admit_all(loss, deltas)


def _refuse(loss: Value, first: Weight, deltas: Sequence[tuple[Weight, Value]]) -> NoReturn:
    """Say which of these is not finite."""
    if not are_finite([loss]):
        text, weight = f"the loss is {loss}, so {first!r} and all other weights stay as they are", first
    else:
        weight = next(weight for weight, x in deltas if not are_finite([x]))
        text = f"the delta of {weight!r} is not finite, so it and all other weights stay as they are"
    refusal = NonFiniteError(text)
    refusal.add_note(update_of(weight if isinstance(weight.optimizer, FailOnNonFiniteOptimizer) else first))
    raise refusal


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

    optimizer: ClassVar[type[Optimizer]] = FailOnNonFiniteOptimizer
