"""Products of vectors and norms: outer, vecdot, cross, kron, vector and matrix norms.

Knows: that a norm has no derivative at 0, where its derivative counts as 0, as that of `abs` does.
Refuses to know: how a sum is computed.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any, Final, Literal

from wengert.arrays import FLOAT32, Axis, Dv, T, Value, is_number
from wengert.errors import ArgumentError, ShapeError
from wengert.graph.apply import apply
from wengert.graph.detached import Indices
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Kind
from wengert.graph.operand import operand, shown
from wengert.graph.operation import Operation, Rules
from wengert.ops import kinds
from wengert.ops.arithmetic import abs, multiply, pow, subtract
from wengert.ops.batching import reduced
from wengert.ops.comparison import greater, not_equal, where
from wengert.ops.creation import ones_like
from wengert.ops.factorization import svdvals
from wengert.ops.families import composed, reduced_by, spread
from wengert.ops.kinds import axis_in, ruled, shape_of_operand
from wengert.ops.manipulation import expand_dims, reshape, roll
from wengert.ops.reduction import max, min, sum
from wengert.ops.sorting import count_nonzero
from wengert_shapes import arrangement


@composed
def outer(x1: ArrayExpression[Any, T, Dv], x2: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
    """The products of each element of one vector with each of another.

    Derivative: g x2 for x1, gᵀ x1 for x2.
    Shapes: (n, m) of (n,) and (m,). Raises ShapeError for what is no vector.
    >>> import numpy as np
    >>> outer(np.array([1.0, 2.0]), np.array([3.0, 4.0])).predict().run().tolist()
    [[3.0, 4.0], [6.0, 8.0]]

    Source: Python array API standard, `linalg.outer`.
    """
    for x in (x1, x2):
        ruled(arrangement.vector, [shape_of_operand(x)])
    return multiply(expand_dims(x1, 1), expand_dims(x2, 0))


@composed
def vecdot(
    x1: ArrayExpression[Any, T, Dv], x2: ArrayExpression[Any, T, Dv], /, *, axis: int = -1
) -> ArrayLayer[Any, T, Dv]:
    """The sums of products along an axis, counted from the end.

    Derivative: g x2, g x1.
    Shapes: broadcast, without the axis. Raises ShapeError for shapes that do not fit and an axis out of range.
    >>> import numpy as np
    >>> vecdot(np.array([1.0, 2.0]), np.array([3.0, 4.0])).predict().run().item()
    11.0

    Source: Python array API standard, `vecdot`.
    """
    shapes = [shape_of_operand(x) for x in (x1, x2)]
    if axis >= 0:
        raise ArgumentError(f"the axis is counted from the end, -1 is the last; got {axis}")
    ruled(arrangement.dot, shapes, axis)
    rank = builtins.max(len(shape) for shape in shapes)
    x1, x2 = (
        reshape(x, (1,) * (rank - len(shape)) + shape) if len(shape) < rank else x
        for x, shape in zip((x1, x2), shapes, strict=True)
    )
    return sum(multiply(x1, x2), axis=axis)


@composed
def cross(
    x1: ArrayExpression[Any, T, Dv], x2: ArrayExpression[Any, T, Dv], /, *, axis: int = -1
) -> ArrayLayer[Any, T, Dv]:
    """The cross product of vectors of three elements along an axis.

    Derivative: x2 × g, g × x1.
    Shapes: broadcast; the axis has size 3. Raises ShapeError for another size and for shapes that do not fit.
    >>> import numpy as np
    >>> cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])).predict().run().tolist()
    [0.0, 0.0, 1.0]

    Source: Python array API standard, `linalg.cross`.
    """
    for x in (x1, x2):
        shape = shape_of_operand(x)
        if shape[axis_in(axis, len(shape), shape)] != 3:
            raise ShapeError(f"axis {axis} of shape {shape} has not size 3")
    ahead, behind = (multiply(roll(x1, i, axis=axis), roll(x2, -i, axis=axis)) for i in (-1, 1))
    return subtract(ahead, behind)


@composed
def kron(x1: ArrayExpression[Any, T, Dv], x2: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
    """The Kronecker product: x2 in the place of each element of x1, times that element.

    Derivative: g summed with x2 over each block; g summed with x1 over the blocks.
    Shapes: the sizes of both multiplied, axis by axis. Raises ShapeError for ranks that differ.
    >>> import numpy as np
    >>> kron(np.array([1.0, 2.0]), np.array([1.0, 1.0])).predict().run().tolist()
    [1.0, 1.0, 2.0, 2.0]

    Source: `numpy.kron`; C. Van Loan, "The ubiquitous Kronecker product", 2000.
    """
    a, b = shape_of_operand(x1), shape_of_operand(x2)
    made = ruled(arrangement.kron, [a, b])
    wide = multiply(
        reshape(x1, tuple(m for n in a for m in (n, 1))), reshape(x2, tuple(m for n in b for m in (1, n)))
    )
    return reshape(wide, made)


def _infer_norm(operands: Sequence[Kind], *, axis: Axis = None, keepdims: bool = False) -> Kind:
    return kinds.reduction(operands, axis=axis, keepdims=keepdims)


def _norm_delta(
    c: Value, g: Value, y: Value, x: Value, *, axis: Axis = None, keepdims: bool = False
) -> Value:
    length = c.xp.where(c.xp.equal(y, 0.0), 1.0, y)
    return spread(c, c.xp.divide(g, length), axis, keepdims) * x


EUCLIDEAN: Final = Operation(
    "vector_norm",
    Rules(
        _infer_norm,
        lambda c, x, *, axis=None, keepdims=False: c.xp.sqrt(c.xp.sum(x * x, axis=axis, keepdims=keepdims)),
        (_norm_delta,),
        batch=reduced,
        pure=True,
    ),
)


@composed
def vector_norm(
    x: ArrayExpression[Any, T, Dv], /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2.0
) -> ArrayLayer[Any, T, Dv]:
    """(Σ |x|^ord)^(1/ord) over some axes, all of them if None; the greatest |x| for inf, the number of non-zeros for 0.

    Derivative: g (|x| / y)^(ord - 1) sign(x); for 2 it is g x / y, and 0 at 0; that of `max` and `min` for infinities.
    Shapes: the axes go, or stay as 1 with keepdims. Raises ShapeError for an axis out of range, ArgumentError for an
    order that is no number.
    >>> import numpy as np
    >>> vector_norm(np.array([3.0, 4.0])).predict().run().item()
    5.0

    Source: Python array API standard, `linalg.vector_norm`.
    """
    if not (is_number(ord) or (isinstance(ord, float) and math.isinf(ord))):
        raise ArgumentError(f"ord is a number, numpy.inf or -numpy.inf; got {shown(ord)}")
    if ord == 2:
        layer: ArrayLayer[Any, T, Dv] = apply(EUCLIDEAN, (x,), reduced_by(axis, keepdims))
        return layer
    if math.isinf(ord):
        return (max if ord > 0 else min)(abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return sum(where(not_equal(x, 0.0), ones_like(x), 0.0), axis=axis, keepdims=keepdims)
    if ord == 1:
        return sum(abs(x), axis=axis, keepdims=keepdims)
    return pow(sum(pow(abs(x), float(ord)), axis=axis, keepdims=keepdims), 1.0 / ord)


@composed
def matrix_norm(
    x: ArrayExpression[Any, T, Dv],
    /,
    *,
    keepdims: bool = False,
    ord: float | Literal["fro", "nuc"] = "fro",
) -> ArrayLayer[Any, T, Dv]:
    """A norm of each matrix, by default the root of the sum of squares.

    "nuc" is the sum of the singular values, 2 and -2 the greatest and the least of them, 1 and -1 the greatest and the
    least sum of absolute values of a column, the infinities those of a row.
    Derivative: that of the sums, of `max` and `min`, and of `svdvals`.
    Shapes: the last two axes go, or stay as 1 with keepdims. Raises ShapeError for fewer than two axes, ArgumentError
    for another order.
    >>> import numpy as np
    >>> matrix_norm(np.array([[3.0, 0.0], [0.0, 4.0]])).predict().run().item()
    5.0

    Source: Python array API standard, `linalg.matrix_norm`.
    """
    shape = shape_of_operand(x)
    ruled(arrangement.transposed, [shape])
    left = (*shape[:-2], *(1,) * (2 * keepdims))
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, math.inf, -math.inf):
        lines: Any = sum(abs(x), axis=-2 if ord in (1, -1) else -1)
        made: Any = (max if ord in (1, math.inf) else min)(lines, axis=-1)
        return reshape(made, left)
    if ord not in ("nuc", 2, -2):
        raise ArgumentError(f'ord is "fro", "nuc", 1, -1, 2, -2 or an infinity; got {shown(ord)}')
    values: Any = svdvals(x)  # Any: as x
    found: Any = sum(values, axis=-1) if ord == "nuc" else (max if ord == 2 else min)(values, axis=-1)
    return reshape(found, left)


@composed
def matrix_rank(x: ArrayExpression[Any, T, Dv], /, *, rtol: float | None = None) -> Indices[Any, Dv]:
    """The number of singular values of each matrix that are greater than `rtol` times the greatest.

    By default `rtol` is the greater of rows and columns times the distance from 1 to the next number.
    Derivative: none; nothing below gets a delta.
    Shapes: (...) of x (..., m, n); integers. Raises ShapeError for fewer than two axes.
    >>> import numpy as np
    >>> matrix_rank(np.array([[1.0, 2.0], [2.0, 4.0]])).predict().run().item()
    1

    Source: Python array API standard, `linalg.matrix_rank`.
    """
    _, of = operand(x)
    sizes = ruled(arrangement.transposed, [shape_of_operand(x)])[-2:]
    least = builtins.max(sizes) * (2.0**-23 if of.dtype == FLOAT32 else 2.0**-52) if rtol is None else rtol
    values: Any = svdvals(x)  # Any: as x
    bound = multiply(max(values, axis=-1, keepdims=True), least)
    greatest: Any = where(greater(values, bound), values, 0.0)
    ranks: Indices[Any, Dv] = count_nonzero(greatest, axis=-1)
    return ranks
