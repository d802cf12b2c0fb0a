"""Averages of weights that plugins keep, by weight.

Knows: where a part of an optimizer has its average.
Refuses to know: how it came about.
"""

from __future__ import annotations

from wengert.arrays import Value
from wengert.errors import ArgumentError
from wengert.graph.weights import Weight
from wengert.models import weights as weights_in
from wengert.plugins.averages import AVERAGE
from wengert.site import user_position


def averages(model: object) -> dict[Weight, Value]:
    """The averages of the weights of a model that have one, for `predict(at=...)` and `assign`.

    A model is what `nn.weights` takes, or a list of weights. Those whose settings have `ExponentialMovingAverage` or
    `StochasticWeightAveraging` have an average after their first step. ArgumentError if none has.
    >>> from wengert import assign
    >>> from wengert.plugins import SGD, ExponentialMovingAverage
    >>> class Settings(ExponentialMovingAverage, SGD): ...
    >>> w = Settings(learning_rate=1.0, decay_of_average=0.5).double_weight(0.0, name="w")
    >>> for d in (1.0, 2.0): value = (w * d).train().run()
    >>> (w * 1.0).predict(at=averages([w])).run()
    -2.0
    >>> assign(averages([w])).run()
    >>> w.data
    -2.0

    Source: as `ExponentialMovingAverage` and `StochasticWeightAveraging`.
    """
    found: dict[Weight, Value] = {
        weight: vars(weight.optimizer)[AVERAGE]
        for weight in weights_in(model).values()
        if AVERAGE in vars(weight.optimizer)
    }
    if not found:
        raise ArgumentError(
            "averages: no weight has one; make the weights with the plugin ExponentialMovingAverage or "
            f"StochasticWeightAveraging, and take a step\n  at {user_position()}"
        )
    return found
