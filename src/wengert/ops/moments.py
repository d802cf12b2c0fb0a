"""Variance and standard deviation over all or some axes.

Knows: both as reductions with one argument more, and what their derivatives are where nothing varies.
Refuses to know: how a sum is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, cast, overload

from wengert.arrays import Axis, Dv, T, Value, is_number
from wengert.elsewhere import misspelt
from wengert.errors import ArgumentError
from wengert.graph.apply import apply
from wengert.graph.expressions import (
    ArrayExpression,
    ArrayLayer,
    DoubleExpression,
    DoubleLayer,
    FloatExpression,
    FloatLayer,
)
from wengert.graph.kinds import Column, Kind
from wengert.graph.operand import shown
from wengert.graph.operation import Rule, Rules
from wengert.ops import kinds
from wengert.ops.batching import reduced
from wengert.ops.families import Reduction, defined, dressed, reduced_by, spread
from wengert.site import user_position


class Moment(Reduction, Protocol):
    """A reduction that divides by n - `correction`."""

    @overload
    def __call__(
        self,
        x: ArrayExpression[Any, T, Dv],
        /,
        *,
        axis: None = None,
        correction: float = 0.0,
        keepdims: Literal[False] = False,
    ) -> ArrayLayer[tuple[()], T, Dv]: ...
    @overload
    def __call__(
        self,
        x: ArrayExpression[Any, T, Dv],
        /,
        *,
        axis: Axis = None,
        correction: float = 0.0,
        keepdims: bool = False,
    ) -> ArrayLayer[Any, T, Dv]: ...
    @overload
    def __call__(self, x: DoubleExpression, /, *, correction: float = 0.0) -> DoubleLayer: ...
    @overload
    def __call__(self, x: FloatExpression, /, *, correction: float = 0.0) -> FloatLayer: ...


def _infer(
    operands: Sequence[Kind], *, correction: float = 0.0, axis: Axis = None, keepdims: bool = False
) -> Kind:
    return kinds.reduction(operands, axis=axis, keepdims=keepdims)


def _moment(derivative: Rule) -> Callable[[Rule], Moment]:
    def make(rule: Rule) -> Moment:
        operation = defined(rule, Rules(_infer, rule, (derivative,), batch=reduced, pure=True))

        def public(
            x: Any,
            /,
            *more: Any,
            axis: Axis = None,
            correction: float = 0.0,
            keepdims: bool = False,
            **wrong: Any,
        ) -> Any:  # Any: typed by Moment
            if more or wrong:
                raise misspelt(operation.name, wrong, ("axis", "correction", "keepdims"), more)
            if not is_number(correction):
                raise ArgumentError(
                    f"{operation.name}: correction is a finite number, 0 or mostly 1; got {shown(correction)}\n"
                    f"  at {user_position()}"
                )
            corrected = (("correction", correction),) if correction else ()
            return apply(operation, (x,), corrected + reduced_by(axis, keepdims))

        return cast(Moment, dressed(public, rule, operation))

    return make


def _count(c: Value, correction: float, axis: Axis) -> float:
    """n - correction, and 0 where that is less."""
    return float(max(kinds.count(axis, c.shape(0)) - correction, 0.0))


def _deviation(c: Value, x: Value, axis: Axis) -> Value:
    """The distance of each element from the mean."""
    return x - (x if c.result.column is not Column.ARRAY else c.xp.mean(x, axis=axis, keepdims=True))


def _variance(c: Value, x: Value, correction: float, axis: Axis, keepdims: bool) -> Value:
    apart = _deviation(c, x, axis)
    squares = apart * apart
    if c.result.column is Column.ARRAY:
        squares = c.xp.sum(squares, axis=axis, keepdims=keepdims)
    return c.xp.divide(squares, _count(c, correction, axis))


def _to_each(
    c: Value,
    g: Value,
    scale: Value,
    x: Value,
    correction: float = 0.0,
    axis: Axis = None,
    keepdims: bool = False,
) -> Value:
    """scale (x - mean) / (n - correction), exactly 0 where g is."""
    if c.result.column is not Column.ARRAY:
        return 0.0 * g
    pulled = spread(c, scale, axis, keepdims) * _deviation(c, x, axis)
    return c.xp.nonzero_safe(spread(c, g, axis, keepdims), c.xp.divide(pulled, _count(c, correction, axis)))


def _var_delta(c: Value, g: Value, y: Value, x: Value, **over: Value) -> Value:
    return _to_each(c, g, 2.0 * g, x, **over)


@_moment(_var_delta)
def var(c: Value, x: Value, *, correction: float = 0.0, axis: Axis = None, keepdims: bool = False) -> Value:
    """The sum of squared distances from the mean over `axis`, divided by n - correction.

    The divisor is 0 where n is not greater than the correction, which makes NaN or infinity.
    Derivative: 2 g (x - mean) / (n - correction).
    Shapes: the axes that are reduced go, or stay as 1 with keepdims. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> var(np.array([1.0, 2.0, 6.0]), correction=1).predict().run().item()
    7.0

    Source: Python array API standard, `var`.
    """
    return _variance(c, x, correction, axis, keepdims)


def _std_delta(c: Value, g: Value, y: Value, x: Value, **over: Value) -> Value:
    scale = c.xp.where(c.xp.equal(y, 0.0), 0.0, c.xp.divide(g, y))
    return _to_each(c, g, scale, x, **over)


@_moment(_std_delta)
def std(c: Value, x: Value, *, correction: float = 0.0, axis: Axis = None, keepdims: bool = False) -> Value:
    """The square root of the variance over `axis`.

    Derivative: g (x - mean) / ((n - correction) y), and 0 where y is 0: the shortest of its subgradients.
    Shapes: the axes that are reduced go, or stay as 1 with keepdims. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> std(np.array([1.0, 3.0])).predict().run().item()
    1.0

    Source: Python array API standard, `std`.
    """
    return c.xp.sqrt(_variance(c, x, correction, axis, keepdims))
