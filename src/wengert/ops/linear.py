"""Products of matrices.

Knows: the shape rule and the derivative of `matmul` in every rank, and that a matrix weight's delta is best
left a product until the commit.
Refuses to know: how a product is computed or committed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from wengert.arrays import Dv, T, Value
from wengert.errors import ShapeError
from wengert.graph.apply import apply, binary
from wengert.graph.batch import Batch
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, Shape, kind
from wengert.graph.operation import Operation, Rules
from wengert.graph.operators import MATMUL
from wengert.graph.ragged import SHARED, Ragged
from wengert.lazy import LazyDelta, Product
from wengert.ops.arithmetic import multiply
from wengert.ops.batching import shaped
from wengert.ops.kinds import common, ruled
from wengert.ops.reduction import sum
from wengert_shapes import rules


def _infer(kinds: Sequence[Kind]) -> Kind:
    _, dtype, device = common(kinds)
    for k in kinds:
        if k.column is not Column.ARRAY:
            raise ShapeError(f"cannot multiply matrices with {k.text()}, which is a scalar; use multiply")
    a, b = (k.shape for k in kinds)
    shape = None if a is None or b is None else ruled(rules.matmul, [a, b])
    return kind(Column.ARRAY, shape, dtype, device)


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
    ranks = len(c.shape(0)), len(c.shape(1))
    if ranks == (1, 2):  # a vector is a matrix of one row
        return LazyDelta([Product(c.xp.expand_dims(a, axis=0), c.xp.expand_dims(g, axis=0))])
    return LazyDelta([Product(a, g)]) if ranks == (2, 2) else _right(c, g, y, a, b)


def _infer_transposed(kinds: Sequence[Kind]) -> Kind:
    _, dtype, device = common(kinds)
    (rows, *_), (columns, *_) = (k.shape or () for k in kinds)
    return kind(Column.ARRAY, (rows, columns), dtype, device)


# a bᵀ of two matrices: what a shared matrix times a vector of each row is, for all rows.
TRANSPOSED: Final = Operation(
    "matmul_transposed",
    Rules(
        _infer_transposed,
        lambda c, a, b: c.xp.matmul(a, c.xp.swap_last(b)),
        (
            lambda c, g, y, a, b: c.xp.matmul(g, b),
            lambda c, g, y, a, b: c.xp.matmul(c.xp.swap_last(g), a),
        ),
        at_weight={1: lambda c, g, y, a, b: LazyDelta([Product(g, a)])},
        pure=True,
    ),
    listed=False,
)


def _batched(b: Batch, left: Value, right: Value) -> Value:
    left_shape, right_shape = b.shape(0), b.shape(1)
    ranks = len(left_shape), len(right_shape)
    if all(b.stacked):
        if ranks == (1, 1):
            return sum(multiply(left, right), axis=1)
    elif b.stacked[0] and ranks[1] <= 2:  # one product of all rows
        lines = shaped(left, (b.rows * math.prod(left_shape[:-1]), left_shape[-1]))
        return shaped(b.again(lines, right), (b.rows, *(b.result.shape or ())))
    elif b.stacked[1] and ranks[1] == 1 and ranks[0] <= 2:
        return b.again(right, left) if ranks[0] == 1 else apply(TRANSPOSED, (right, left))
    axes = max(*ranks, 2) - 2
    left = _as_matrices(b, 0, left, (1, *left_shape) if ranks[0] == 1 else left_shape, axes)
    right = _as_matrices(b, 1, right, (*right_shape, 1) if ranks[1] == 1 else right_shape, axes)
    return shaped(b.again(left, right), (b.rows, *(b.result.shape or ())))


def _as_matrices(b: Batch, index: int, x: Value, shape: Shape, axes: int) -> Value:
    """An operand with at least two axes; if it is stacked, with `axes` of them between rows and matrices."""
    between = (1,) * (axes + 2 - len(shape))
    return shaped(x, (b.rows, *between, *shape) if b.stacked[index] else shape)


def _ragged(c: Ragged, left: Value, right: Value) -> Value:
    """The rule of matmul for examples of unlike sizes: rows times one matrix."""
    if c.along[1] is not SHARED or len(c.shape(0)) != 2 or len(c.shape(1)) > 2:
        return NotImplemented
    return c.again(left, right), c.along[0]


MATMUL.define(
    Rules(
        _infer,
        lambda c, a, b: c.xp.matmul(a, b),
        (_left, _right),
        at_weight={1: _right_weight},
        batch=_batched,
        ragged=_ragged,
        pure=True,
    )
)


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
