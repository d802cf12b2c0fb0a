"""Products of matrices.

Knows: the shape rule and the derivative of `matmul` in every rank, and that a matrix weight's delta is best
left a product until the commit.
Refuses to know: how a product is computed or committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.arrays import Dv, T
from wengert.errors import ShapeError
from wengert.graph.apply import binary
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, Shape, kind
from wengert.graph.operation import Rules
from wengert.graph.operators import MATMUL
from wengert.lazy import LazyDelta, Product
from wengert.ops.kinds import broadcast_batch, common

Value = Any  # arrays, or expressions: a rule is written once for both


def _infer(kinds: Sequence[Kind]) -> Kind:
    _, dtype, device = common(kinds)
    for k in kinds:
        if k.column is not Column.ARRAY:
            raise ShapeError(f"cannot multiply matrices with {k.text()}, which is a scalar; use multiply")
    a, b = (k.shape for k in kinds)
    shape = None if a is None or b is None else _product_shape(a, b)
    return kind(Column.ARRAY, shape, dtype, device)


def _product_shape(a: Shape, b: Shape) -> Shape:
    if not a or not b:
        raise ShapeError(f"cannot multiply {a} by {b}: an array of shape () is no matrix; use multiply")
    inner = b[-2] if len(b) > 1 else b[0]
    if a[-1] != inner:
        raise ShapeError(f"cannot multiply {a} by {b}: inner dimensions {a[-1]} and {inner} differ")
    rows = a[-2:-1]
    columns = b[-1:] if len(b) > 1 else ()
    return broadcast_batch(a[:-2], b[:-2]) + rows + columns


def _left(c: Value, g: Value, y: Value, a: Value, b: Value) -> Value:
    xp, (left, right) = c.xp, (c.shape(0), c.shape(1))
    if len(left) == 2 == len(right):
        return xp.matmul(g, xp.swap_last(b))
    if len(right) == 1:
        return xp.sum_to(xp.expand_dims(g, axis=-1) * b, left) if len(left) > 1 else g * b
    if len(left) == 1:
        rows = xp.matmul(b, xp.expand_dims(g, axis=-1))
        return xp.sum_to(xp.squeeze(rows, axis=-1), left)
    return xp.sum_to(xp.matmul(g, xp.swap_last(b)), left)


def _right(c: Value, g: Value, y: Value, a: Value, b: Value) -> Value:
    xp, (left, right) = c.xp, (c.shape(0), c.shape(1))
    if len(left) == 2 == len(right):
        return xp.matmul(xp.swap_last(a), g)
    if len(left) == 1:
        if len(right) == 1:
            return g * a
        return xp.sum_to(xp.expand_dims(a, axis=-1) * xp.expand_dims(g, axis=-2), right)
    if len(right) == 1:
        columns = xp.matmul(xp.swap_last(a), xp.expand_dims(g, axis=-1))
        return xp.sum_to(xp.squeeze(columns, axis=-1), right)
    return xp.sum_to(xp.matmul(xp.swap_last(a), g), right)


def _right_weight(c: Value, g: Value, y: Value, a: Value, b: Value) -> Value:
    if len(c.shape(0)) == 2 == len(c.shape(1)):
        return LazyDelta([Product(a, g)])
    return _right(c, g, y, a, b)


MATMUL.define(Rules(_infer, lambda c, a, b: c.xp.matmul(a, b), (_left, _right), at_weight={1: _right_weight}))


def matmul(a: ArrayExpression[Any, T, Dv], b: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
    """The product of matrices; leading axes are batches.

    y[..., i, j] = Σ_k a[..., i, k] b[..., k, j]; an operand of one axis is a row on the left, a column on the
    right, and that axis is gone from the result.
    Derivative: g bᵀ, aᵀ g, summed over broadcast batch axes.
    Shapes: (..., n, k) and (..., k, m) to (..., n, m); one dtype. Raises ShapeError, DTypeError, DeviceError.
    >>> import numpy as np
    >>> matmul(np.ones((2, 3)), np.ones((3, 4))).predict().run().tolist()
    [[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]

    Source: Python array API standard, `matmul`.
    """
    layer: ArrayLayer[Any, T, Dv] = binary(MATMUL, a, b)
    return layer
