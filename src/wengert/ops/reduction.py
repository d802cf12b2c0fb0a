"""Reductions: sum, product, mean, extrema and their smooth maximum over all or some axes.

Knows: that a reduction's delta is spread over what was reduced, and among tied extrema equally.
Refuses to know: how a sum is computed.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, Literal, Protocol, cast, overload

from wengert.arrays import FLOAT32, Axis, Dv, Float32, T, Value
from wengert.errors import DTypeError, ShapeError
from wengert.graph.detached import Mask
from wengert.graph.expressions import (
    ArrayExpression,
    ArrayLayer,
    DoubleExpression,
    DoubleLayer,
    FloatExpression,
    FloatLayer,
)
from wengert.graph.kinds import Column, Kind, kind
from wengert.ops import kinds
from wengert.ops.families import Reduction, reduction, spread


class SumReduction(Reduction, Protocol):
    """A reduction that also counts the true elements of a mask, in float32."""

    @overload
    def __call__(
        self, x: Mask[Any, Dv], /, *, axis: None = None, keepdims: Literal[False] = False
    ) -> ArrayLayer[tuple[()], Float32, Dv]: ...
    @overload
    def __call__(
        self, x: Mask[Any, Dv], /, *, axis: Axis = None, keepdims: bool = False
    ) -> ArrayLayer[Any, Float32, Dv]: ...
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


def _infer_sum(operands: Sequence[Kind], *, axis: Axis = None, keepdims: bool = False) -> Kind:
    (operand,) = operands
    if operand.column is not Column.MASK:
        return kinds.reduction(operands, axis=axis, keepdims=keepdims)
    shape = None if operand.shape is None else kinds.reduced_shape(operand.shape, axis, keepdims)
    return kind(Column.ARRAY, shape, FLOAT32, operand.device)


def _infer_extremum(operands: Sequence[Kind], *, axis: Axis = None, keepdims: bool = False) -> Kind:
    if operands[0].column is Column.MASK:
        raise DTypeError("a mask has no extremum")
    shape = operands[0].shape
    if shape is not None and any(shape[a] == 0 for a in kinds.axes_in(axis, shape)):
        raise ShapeError(f"no element to choose from along axis {axis} of shape {shape}")
    return kinds.reduction(operands, axis=axis, keepdims=keepdims)


def _is_scalar(c: Value) -> bool:
    return c.result.column is not Column.ARRAY


def _sum_delta(c: Value, g: Value, y: Value, x: Value, *, axis: Axis = None, keepdims: bool = False) -> Value:
    return g if _is_scalar(c) else spread(c, g, axis, keepdims)


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
        dtype = c.result.dtype
        # of doubles a mask of one element is Python's own truth value, which has no element type
        x = c.xp.where(x, c.xp.ones((), dtype), 0.0) if c.shape(0) == () else c.xp.astype(x, dtype)
    return c.xp.sum(x, axis=axis, keepdims=keepdims)


_sum.__name__ = "sum"
sum = cast(SumReduction, reduction(_sum_delta, _infer_sum, pure=True, mean=False)(_sum))


def _mean_delta(
    c: Value, g: Value, y: Value, x: Value, *, axis: Axis = None, keepdims: bool = False
) -> Value:
    if _is_scalar(c):
        return g
    return spread(c, g / builtins.max(kinds.count(axis, c.shape(0)), 1), axis, keepdims)


@reduction(_mean_delta, pure=True, mean=True)
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
    tied = c.xp.equal(x, spread(c, y, axis, keepdims))
    counts = c.xp.sum(c.xp.astype(tied, c.result.dtype), axis=axis, keepdims=keepdims)
    return c.xp.where(tied, spread(c, g / counts, axis, keepdims), 0.0)


@reduction(_extremum_delta, _infer_extremum, pure=True)
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


@reduction(_extremum_delta, _infer_extremum, pure=True)
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


def _prod_delta(
    c: Value, g: Value, y: Value, x: Value, *, axis: Axis = None, keepdims: bool = False
) -> Value:
    if _is_scalar(c):
        return g
    xp, shape = c.xp, c.shape(0)
    axes = kinds.axes_in(axis, shape)
    order = (*(i for i in range(len(shape)) if i not in axes), *axes)
    moved = xp.permute_dims(x, order)
    lines = xp.reshape(moved, (*kinds.reduced_shape(shape, axis, False), kinds.count(axis, shape)))
    others = xp.reshape(_product_of_others(c, lines), tuple(shape[i] for i in order))
    back = tuple(order.index(i) for i in range(len(shape)))
    g = spread(c, g, axis, keepdims)
    return xp.nonzero_safe(g, g * xp.permute_dims(others, back))


def _product_of_others(c: Value, x: Value) -> Value:
    """For each element of a line the product of what stands before and after it: no division, so zeros may be."""
    xp, shape = c.xp, x.shape
    one = xp.ones((*shape[:-1], builtins.min(shape[-1], 1)), c.result.dtype)
    before = xp.cumprod(xp.concat([one, x[..., :-1]], axis=-1), axis=-1)
    after = xp.cumprod(xp.concat([one, xp.flip(x[..., 1:], axis=-1)], axis=-1), axis=-1)
    return before * xp.flip(after, axis=-1)


@reduction(_prod_delta, pure=True)
def prod(c: Value, x: Value, *, axis: Axis = None, keepdims: bool = False) -> Value:
    """The product over `axis`; 1 over nothing.

    Derivative: g times the product of all other elements, which a zero makes 0 for the others only.
    Shapes: the axes that are multiplied go, or stay as 1 with keepdims. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> prod(np.array([2.0, 3.0, 4.0])).predict().run().item()
    24.0

    Source: Python array API standard, `prod`.
    """
    return x if _is_scalar(c) else c.xp.prod(x, axis=axis, keepdims=keepdims)


def _logsumexp_delta(
    c: Value, g: Value, y: Value, x: Value, *, axis: Axis = None, keepdims: bool = False
) -> Value:
    xp = c.xp
    if _is_scalar(c):
        return g
    if not kinds.count(None, c.shape(0)):
        return xp.zeros(c.shape(0), c.result.dtype)
    top = xp.max(x, axis=axis, keepdims=True)
    apart = x - top
    alike = xp.logical_and(xp.equal(x, top), xp.not_equal(apart, apart))  # both are infinite
    parts = xp.exp(xp.where(alike, 0.0, apart))
    parts = parts / xp.sum(parts, axis=axis, keepdims=True)
    g = spread(c, g, axis, keepdims)
    return xp.nonzero_safe(g, g * parts)


@reduction(_logsumexp_delta, pure=True)
def logsumexp(c: Value, x: Value, *, axis: Axis = None, keepdims: bool = False) -> Value:
    """log Σ exp(x) over `axis`, without overflow; -infinity over nothing.

    Derivative: g softmax(x); where the sum is infinite, g / k to each of the k elements that are greatest, as max.
    Shapes: the axes that are summed go, or stay as 1 with keepdims. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> logsumexp(np.array([1000.0, 1000.0])).predict().run().round(6).item()
    1000.693147

    Source: P. Blanchard, D. Higham, N. Higham, "Accurately computing the log-sum-exp and softmax functions", 2021.
    """
    return x if _is_scalar(c) else c.xp.logsumexp(x, axis=axis, keepdims=keepdims)
