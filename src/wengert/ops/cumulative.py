"""Sums of everything up to a place along an axis.

Knows: that the delta is the same sum from the other end.
Refuses to know: how the sums are computed.
"""

from __future__ import annotations

from typing import Any, Final

from wengert.arrays import Dv, S, T
from wengert.graph.apply import apply
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.operation import Operation, Rules
from wengert.ops.batching import along
from wengert.ops.kinds import along_axis

Value = Any  # arrays, or expressions: a rule is written once for both


def _delta(c: Value, g: Value, y: Value, x: Value, *, axis: int) -> Value:
    return c.xp.flip(c.xp.cumsum(c.xp.flip(g, axis=axis), axis=axis), axis=axis)


CUMSUM: Final = Operation(
    "cumsum",
    Rules(along_axis, lambda c, x, *, axis: c.xp.cumsum(x, axis=axis), (_delta,), batch=along, pure=True),
)


def cumsum(x: ArrayExpression[S, T, Dv], /, *, axis: int = -1) -> ArrayLayer[S, T, Dv]:
    """The sums of all elements up to each one, along an axis.

    Derivative: the sums of g from each element on.
    Shapes: that of x. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> cumsum(np.array([1.0, 2.0, 3.0])).predict().run().tolist()
    [1.0, 3.0, 6.0]

    Source: Python array API standard, `cumulative_sum`.
    """
    layer: ArrayLayer[S, T, Dv] = apply(CUMSUM, (x,), (("axis", axis),))
    return layer
