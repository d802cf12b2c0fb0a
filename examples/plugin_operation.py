"""A plugin that adds an operation with a hyperparameter of its own: a relu that leaks.

Its value and its derivative are written once; the plugin's method gives it the slope, and its types.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np

import wengert as wg
from wengert.arrays import Dv, S, T
from wengert.extend import Case, kinds, operation
from wengert.plugins import SGD, Plugin

Value = Any  # numbers and arrays


def _leaky(case: Case, x: Value, *, slope: float) -> Value:
    return case.xp.where(case.xp.greater(x, 0.0), x, slope * x)


def _steepness(case: Case, g: Value, y: Value, x: Value, *, slope: float) -> Value:
    return case.xp.where(case.xp.greater(x, 0.0), g, slope * g)


@operation(lambda operands, *, slope: kinds.elementwise(operands), _leaky, _steepness)
def leaky(x: Value, /, *, slope: float) -> Value:
    """x where x > 0, else slope · x; never called: the three functions above are what it does."""


class Leaky(Plugin):
    """Gives settings the operation `leaky`."""

    slope: float = 0.1

    @overload
    def leaky(self, x: wg.ArrayExpression[S, T, Dv], /) -> wg.ArrayLayer[S, T, Dv]: ...
    @overload
    def leaky(self, x: wg.DoubleExpression, /) -> wg.DoubleLayer: ...
    @overload
    def leaky(self, x: wg.FloatExpression, /) -> wg.FloatLayer: ...
    def leaky(self, x: Value, /) -> Value:
        return leaky(x, slope=self.slope)


class Settings(Leaky, SGD): ...


def main() -> tuple[float, list[float]]:
    """The loss, and the weight after a step of training through the operation."""
    settings = Settings(learning_rate=1.0, slope=0.5)
    w = settings.array_weight(np.array([-2.0, 3.0], np.float64))
    return float(wg.sum(settings.leaky(w)).train().run()), w.data.tolist()


if __name__ == "__main__":
    print("loss {}; the weight after a step {}, by an operation that settings brought".format(*main()))
