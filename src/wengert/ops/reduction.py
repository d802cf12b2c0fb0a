"""Reductions: sum, mean, max and min over all or some axes.

Knows: that a reduction's delta is spread over what was reduced, and among tied extrema equally.
Refuses to know: how a sum is computed.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, cast, overload

from wengert.arrays import FLOAT32, Dv, Float32, T
from wengert.errors import DTypeError, ShapeError
from wengert.graph.apply import apply
from wengert.graph.expressions import (
    ArrayExpression,
    ArrayLayer,
    DoubleExpression,
    DoubleLayer,
    FloatExpression,
    FloatLayer,
    Mask,
)
from wengert.graph.kinds import Column, Kind, Shape, kind
from wengert.graph.operation import Rule, Rules
from wengert.ops.families import defined, dressed
from wengert.ops.kinds import axes_in, common

Value = Any  # data of any column, or an expression: a rule is written once for all of them
Axis = int | tuple[int, ...] | None


class Reduction(Protocol):
    """One operand, reduced over `axis` (all axes if None); reduced axes stay as size 1 with `keepdims`."""

    @overload
    def __call__(
        self, x: ArrayExpression[Any, T, Dv], /, *, axis: None = None, keepdims: Literal[False] = False
    ) -> ArrayLayer[tuple[()], T, Dv]: ...
    @overload
    def __call__(
        self, x: ArrayExpression[Any, T, Dv], /, *, axis: Axis = None, keepdims: bool = False
    ) -> ArrayLayer[Any, T, Dv]: ...
    @overload
    def __call__(self, x: DoubleExpression, /) -> DoubleLayer: ...
    @overload
    def __call__(self, x: FloatExpression, /) -> FloatLayer: ...


class Sum(Reduction, Protocol):
    """A reduction that also counts the true elements of a mask, in float32."""

    @overload
    def __call__(self, x: Mask[Any, Dv], /, *, axis: None = None) -> ArrayLayer[tuple[()], Float32, Dv]: ...
    @overload
    def __call__(
        self, x: ArrayExpression[Any, T, Dv], /, *, axis: None = None, keepdims: Literal[False] = False
    ) -> ArrayLayer[tuple[()], T, Dv]: ...
    @overload
    def __call__(
        self, x: ArrayExpression[Any, T, Dv], /, *, axis: Axis = None, keepdims: bool = False
    ) -> ArrayLayer[Any, T, Dv]: ...
    @overload
    def __call__(self, x: DoubleExpression, /) -> DoubleLayer: ...
    @overload
    def __call__(self, x: FloatExpression, /) -> FloatLayer: ...


def reduced_shape(shape: Shape, axis: Axis, keepdims: bool) -> Shape:
    """The shape that is left."""
    axes = axes_in(axis, shape)
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def _infer(kinds: Sequence[Kind], *, axis: Axis = None, keepdims: bool = False) -> Kind:
    (operand,) = kinds
    if operand.column is Column.MASK:
        dtype, device = FLOAT32, operand.device
    else:
        column, dtype, device = common(kinds)
        if column is not Column.ARRAY:
            if axis is not None or keepdims:
                raise ShapeError(f"axis {axis} is out of range for a scalar")
            return kind(column, (), dtype, device)
    shape = operand.shape
    return kind(Column.ARRAY, None if shape is None else reduced_shape(shape, axis, keepdims), dtype, device)


def _infer_extremum(kinds: Sequence[Kind], *, axis: Axis = None, keepdims: bool = False) -> Kind:
    if kinds[0].column is Column.MASK:
        raise DTypeError("a mask has no extremum")
    shape = kinds[0].shape
    if shape is not None and any(shape[a] == 0 for a in axes_in(axis, shape)):
        raise ShapeError(f"no element to choose from along axis {axis} of shape {shape}")
    return _infer(kinds, axis=axis, keepdims=keepdims)


def _spread(c: Value, g: Value, axis: Axis, keepdims: bool) -> Value:
    """A value of the reduced shape, stretched over the operand's shape."""
    shape = c.shape(0)
    if not keepdims:
        g = c.xp.reshape(g, reduced_shape(shape, axis, True))
    return c.xp.broadcast_to(g, shape)


def _is_scalar(c: Value) -> bool:
    return c.result.column is not Column.ARRAY


def _reduction(infer: Callable[..., Kind], derivative: Rule) -> Callable[[Rule], Reduction]:
    def make(rule: Rule) -> Reduction:
        operation = defined(rule, Rules(infer, rule, (derivative,)))

        def public(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:  # Any: typed by Reduction
            axis = tuple(axis) if isinstance(axis, (list, tuple)) else axis
            attributes = () if axis is None and not keepdims else (("axis", axis), ("keepdims", keepdims))
            return apply(operation, (x,), attributes)

        return cast(Reduction, dressed(public, rule, operation))

    return make


def _sum_delta(c: Value, g: Value, y: Value, x: Value, *, axis: Axis = None, keepdims: bool = False) -> Value:
    return g if _is_scalar(c) else _spread(c, g, axis, keepdims)


def _sum(c: Value, x: Value, *, axis: Axis = None, keepdims: bool = False) -> Value:
    """The sum over `axis`.

    Derivative: g, spread over what was summed.
    Shapes: the axes that are summed go, or stay as 1 with keepdims; a mask is counted in float32.
    Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> sum(np.ones((2, 3)), axis=0).predict().run().tolist()
    [2.0, 2.0, 2.0]

    Source: Python array API standard, `sum`.
    """
    if _is_scalar(c):
        return x
    if c.kinds[0].column is Column.MASK:
        x = c.xp.astype(x, c.result.dtype)
    return c.xp.sum(x, axis=axis, keepdims=keepdims)


_sum.__name__ = "sum"
sum = cast(Sum, _reduction(_infer, _sum_delta)(_sum))


def _count(c: Value, axis: Axis) -> int:
    shape = c.shape(0)
    return math.prod(shape[a] for a in axes_in(axis, shape))


def _mean_delta(
    c: Value, g: Value, y: Value, x: Value, *, axis: Axis = None, keepdims: bool = False
) -> Value:
    if _is_scalar(c):
        return g
    return _spread(c, g / builtins.max(_count(c, axis), 1), axis, keepdims)


@_reduction(_infer, _mean_delta)
def mean(c: Value, x: Value, *, axis: Axis = None, keepdims: bool = False) -> Value:
    """The arithmetic mean over `axis`; NaN over nothing.

    Derivative: g / n, spread over the n elements that were averaged.
    Shapes: the axes that are averaged go, or stay as 1 with keepdims. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> mean(np.array([1.0, 2.0, 6.0])).predict().run().item()
    3.0

    Source: Python array API standard, `mean`.
    """
    return x if _is_scalar(c) else c.xp.mean(x, axis=axis, keepdims=keepdims)


def _extremum_delta(
    c: Value, g: Value, y: Value, x: Value, *, axis: Axis = None, keepdims: bool = False
) -> Value:
    if _is_scalar(c):
        return g
    tied = c.xp.equal(x, _spread(c, y, axis, keepdims))
    counts = c.xp.sum(c.xp.astype(tied, c.result.dtype), axis=axis, keepdims=keepdims)
    return c.xp.where(tied, _spread(c, g / counts, axis, keepdims), 0.0)


@_reduction(_infer_extremum, _extremum_delta)
def max(c: Value, x: Value, *, axis: Axis = None, keepdims: bool = False) -> Value:
    """The greatest element over `axis`.

    Derivative: g, in equal parts to all k elements that are greatest: g / k each.
    Shapes: the axes that are searched go, or stay as 1 with keepdims. Raises ShapeError for an axis out of
    range or without elements.
    >>> import numpy as np
    >>> max(np.array([1.0, 3.0, 2.0])).predict().run().item()
    3.0

    Source: Python array API standard, `max`.
    """
    return x if _is_scalar(c) else c.xp.max(x, axis=axis, keepdims=keepdims)


@_reduction(_infer_extremum, _extremum_delta)
def min(c: Value, x: Value, *, axis: Axis = None, keepdims: bool = False) -> Value:
    """The smallest element over `axis`.

    Derivative: g, in equal parts to all k elements that are smallest: g / k each.
    Shapes: the axes that are searched go, or stay as 1 with keepdims. Raises ShapeError for an axis out of
    range or without elements.
    >>> import numpy as np
    >>> min(np.array([1.0, 3.0, 2.0])).predict().run().item()
    1.0

    Source: Python array API standard, `min`.
    """
    return x if _is_scalar(c) else c.xp.min(x, axis=axis, keepdims=keepdims)
