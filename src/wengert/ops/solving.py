"""Inverses, solutions, determinants and powers of matrices, each of a stack of them.

Knows: the derivatives, which are made of the same operations.
Refuses to know: how a library solves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from wengert.arrays import Dv, T, Value, is_integer
from wengert.errors import ArgumentError
from wengert.graph.apply import apply
from wengert.graph.batch import Batch, rowwise
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, kind
from wengert.graph.operand import operand, shown
from wengert.graph.operation import Operation, Rules
from wengert.ops.arithmetic import multiply
from wengert.ops.batching import deepened
from wengert.ops.creation import eye
from wengert.ops.factorization import square
from wengert.ops.families import composed
from wengert.ops.kinds import array_of, common, ruled, shape_of_operand
from wengert.ops.linear import matmul
from wengert.ops.manipulation import broadcast_to, expand_dims, squeeze
from wengert_shapes import arrangement


def _inv_delta(c: Value, g: Value, y: Value, x: Value) -> Value:
    xp, t = c.xp, c.xp.swap_last(y)
    return -xp.matmul(t, xp.matmul(g, t))


INV: Final = Operation(
    "inv", Rules(square, lambda c, x: c.xp.inv(x), (_inv_delta,), batch=rowwise, pure=True)
)


def inv(x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
    """The inverse y of each matrix.

    Derivative: -yᵀ g yᵀ.
    Shapes: (..., n, n), that of x. Raises ShapeError for other shapes, numpy.linalg.LinAlgError in the run for a
    singular matrix.
    >>> import numpy as np
    >>> inv(np.array([[2.0, 0.0], [0.0, 4.0]])).predict().run().tolist()
    [[0.5, 0.0], [0.0, 0.25]]

    Source: Python array API standard, `linalg.inv`; M. Giles, "An extended collection of matrix derivative results for
    forward and reverse mode algorithmic differentiation", 2008, section 2.2.3.
    """
    layer: ArrayLayer[Any, T, Dv] = apply(INV, (x,))
    return layer


def _infer_solve(kinds: Sequence[Kind]) -> Kind:
    a, b = kinds
    array_of([a])
    _, dtype, device = common(kinds)
    if a.shape is None or b.shape is None:
        return kind(Column.ARRAY, None, dtype, device)
    return kind(Column.ARRAY, ruled(arrangement.solution, [a.shape, b.shape]), dtype, device)


def _solve_left(c: Value, g: Value, y: Value, a: Value, b: Value) -> Value:
    xp = c.xp
    right = xp.solve(xp.swap_last(a), g)
    return xp.sum_to(-xp.matmul(right, xp.swap_last(y)), c.shape(0))


def _solve_right(c: Value, g: Value, y: Value, a: Value, b: Value) -> Value:
    return c.xp.sum_to(c.xp.solve(c.xp.swap_last(a), g), c.shape(1))


def _batched_solve(b: Batch, *operands: Value) -> Value:
    rank = max(len(b.shape(0)), len(b.shape(1)))
    return b.again(*(deepened(b, i, x, rank) for i, x in enumerate(operands)))


SOLVE: Final = Operation(  # of matrices; `solve` makes one of a vector
    "solve",
    Rules(
        _infer_solve,
        lambda c, a, b: c.xp.solve(a, b),
        (_solve_left, _solve_right),
        batch=_batched_solve,
        pure=True,
    ),
)


@composed
def solve(a: ArrayExpression[Any, T, Dv], b: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
    """The solution y of a y = b: for each column of b, or for b as one vector.

    Derivative: -a⁻ᵀ g yᵀ for a, a⁻ᵀ g for b.
    Shapes: a (..., n, n), b (n,) or (..., n, k), the result as b; axes before the matrices broadcast. Raises
    ShapeError for other shapes, numpy.linalg.LinAlgError in the run for a singular a.
    >>> import numpy as np
    >>> solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0])).predict().run().tolist()
    [1.0, 0.5]

    Source: Python array API standard, `linalg.solve`; M. Giles, 2008, section 2.3.1, as `inv`.
    """
    vector = len(shape_of_operand(b)) == 1
    ruled(arrangement.solution, [shape_of_operand(a), shape_of_operand(b)])
    layer: ArrayLayer[Any, T, Dv] = apply(SOLVE, (a, expand_dims(b, 1) if vector else b))
    return squeeze(layer, -1) if vector else layer


def _infer_det(kinds: Sequence[Kind]) -> Kind:
    of = square(kinds)
    return kind(Column.ARRAY, None if of.shape is None else of.shape[:-2], of.dtype, of.device)


def _each(c: Value, g: Value) -> Value:
    """One number a matrix, as a matrix of one element."""
    return c.xp.reshape(g, (*g.shape, 1, 1))


def _det_delta(c: Value, g: Value, y: Value, x: Value) -> Value:
    return _each(c, g * y) * c.xp.swap_last(c.xp.inv(x))


DET: Final = Operation(
    "det", Rules(_infer_det, lambda c, x: c.xp.det(x), (_det_delta,), batch=rowwise, pure=True)
)
DET_SIGN: Final = Operation(
    "det_sign",
    Rules(_infer_det, lambda c, x: c.xp.det_sign(x), detached=True, batch=rowwise, pure=True),
)
LOGABSDET: Final = Operation(
    "logabsdet",
    Rules(
        _infer_det,
        lambda c, x: c.xp.logabsdet(x),
        (lambda c, g, y, x: _each(c, g) * c.xp.swap_last(c.xp.inv(x)),),
        batch=rowwise,
        pure=True,
    ),
)


def det(x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
    """The determinant y of each matrix.

    Derivative: g y x⁻ᵀ; a singular matrix has a determinant, and no derivative here: numpy.linalg.LinAlgError.
    Shapes: (...) of x (..., n, n). Raises ShapeError for other shapes.
    >>> import numpy as np
    >>> det(np.array([[2.0, 0.0], [0.0, 4.0]])).predict().run().round(12).item()
    8.0

    Source: Python array API standard, `linalg.det`; M. Giles, 2008, section 2.2.4, as `inv`.
    """
    layer: ArrayLayer[Any, T, Dv] = apply(DET, (x,))
    return layer


class SlogdetResult(NamedTuple):
    """The results of `slogdet`."""

    sign: ArrayLayer[Any, Any, Any]  # Any: shape, element type and device of the matrix
    logabsdet: ArrayLayer[Any, Any, Any]


@composed
def slogdet(x: ArrayExpression[Any, T, Dv], /) -> SlogdetResult:
    """The sign of the determinant of each matrix, and the logarithm of its absolute value: no overflow.

    Derivative: g x⁻ᵀ of the logarithm; none of the sign.
    Shapes: (...) each of x (..., n, n). Raises ShapeError for other shapes, numpy.linalg.LinAlgError in the run for the
    derivative at a singular matrix.
    >>> import numpy as np
    >>> slogdet(np.array([[-1.0, 0.0], [0.0, 1.0]])).sign.predict().run().item()
    -1.0

    Source: Python array API standard, `linalg.slogdet`; M. Giles, 2008, section 2.2.4, as `inv`.
    """
    return SlogdetResult(apply(DET_SIGN, (x,)), apply(LOGABSDET, (x,)))


def _infer_pinv(kinds: Sequence[Kind]) -> Kind:
    shape, dtype, device = array_of(kinds)
    made = None if shape is None else ruled(arrangement.transposed, [shape])
    return kind(Column.ARRAY, made, dtype, device)


def _pinv_delta(c: Value, g: Value, y: Value, x: Value) -> Value:
    t, mul = c.xp.swap_last, c.xp.matmul
    yt, gt = t(y), t(g)
    first = mul(gt, mul(y, yt))
    second = mul(mul(yt, y), gt)
    return -mul(yt, mul(g, yt)) + first - mul(x, mul(y, first)) + second - mul(mul(second, y), x)


PINV: Final = Operation(
    "pinv", Rules(_infer_pinv, lambda c, x: c.xp.pinv(x), (_pinv_delta,), batch=rowwise, pure=True)
)


def pinv(x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
    """The Moore-Penrose pseudo-inverse y of each matrix.

    Derivative: -yᵀ g yᵀ + (I - x y) gᵀ y yᵀ + yᵀ y gᵀ (I - y x), while the rank stays: where it changes the
    pseudo-inverse jumps.
    Shapes: (..., n, m) of x (..., m, n). Raises ShapeError for fewer than two axes.
    >>> import numpy as np
    >>> pinv(np.array([[2.0], [0.0]])).predict().run().tolist()
    [[0.5, 0.0]]

    Source: Python array API standard, `linalg.pinv`; G. Golub, V. Pereyra, "The Differentiation of Pseudo-Inverses and
    Nonlinear Least Squares Problems Whose Variables Separate", 1973, equation 4.12.
    """
    layer: ArrayLayer[Any, T, Dv] = apply(PINV, (x,))
    return layer


@composed
def matrix_power(x: ArrayExpression[Any, T, Dv], n: int, /) -> ArrayLayer[Any, T, Dv]:
    """Each matrix to an integer power, by repeated squares; a negative power is one of the inverse, 0 gives ones.

    Derivative: that of the products.
    Shapes: (..., n, n), that of x. Raises ShapeError for other shapes, ArgumentError for a power that is no integer.
    >>> import numpy as np
    >>> matrix_power(np.array([[1.0, 1.0], [0.0, 1.0]]), 5).predict().run().tolist()
    [[1.0, 5.0], [0.0, 1.0]]

    Source: Python array API standard, `linalg.matrix_power`.
    """
    shape = ruled(arrangement.square, [shape_of_operand(x)])
    if not is_integer(n):
        raise ArgumentError(f"the power is an integer; got {shown(n)}")
    power = int(n)
    base: Any = inv(x) if power < 0 else x  # Any: a matrix, or a layer
    left, made = abs(power), None
    while left:
        if left % 2:
            made = base if made is None else matmul(made, base)
        left //= 2
        base = matmul(base, base) if left else base
    if made is None:
        identity: Any = eye(shape[-1], dtype=operand(x)[1].dtype)  # Any: on the device of x, too
        return broadcast_to(identity, shape)
    return multiply(made, 1.0) if made is x else made
