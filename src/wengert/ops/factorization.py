"""Factorizations of matrices: Cholesky, QR, symmetric eigenvalues, singular values; each of a stack of them.

Knows: the derivatives, in which a difference of two equal eigenvalues or singular values counts as infinite: what a
factor is there depends on how it is chosen, and no choice has a derivative.
Refuses to know: how a library computes factors; an operation gives one array, in which they stand below each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from wengert.arrays import Dv, T, Value
from wengert.errors import ShapeError
from wengert.graph.apply import apply
from wengert.graph.batch import rowwise
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, Shape, kind
from wengert.graph.operation import Operation, Rules
from wengert.ops.arithmetic import add, multiply
from wengert.ops.families import composed
from wengert.ops.indexing import getitem
from wengert.ops.joining import concat
from wengert.ops.kinds import array_of, ruled, shape_of_operand
from wengert.ops.linear import matmul
from wengert.ops.manipulation import matrix_transpose
from wengert_shapes import arrangement


def square(kinds: Sequence[Kind]) -> Kind:
    """A stack of square matrices, to one of the same shape."""
    shape, dtype, device = array_of(kinds)
    return kind(Column.ARRAY, None if shape is None else ruled(arrangement.square, [shape]), dtype, device)


def _packed(rows: str) -> Any:  # Any: a shape rule
    """The factors of a matrix below each other: rows of each by the letters m (rows), n (columns), 1."""

    def infer(kinds: Sequence[Kind]) -> Kind:
        shape, dtype, device = array_of(kinds)
        if shape is None:
            return kind(Column.ARRAY, None, dtype, device)
        ruled(arrangement.transposed, [shape])
        sizes = {"m": shape[-2], "n": shape[-1], "1": 1}
        made = (*shape[:-2], sum(sizes[letter] for letter in rows), min(shape[-2:]))
        return kind(Column.ARRAY, made, dtype, device)

    return infer


def _grid(c: Value, x: Value) -> tuple[Value, Value]:
    """Row and column of each element of a matrix."""
    rows, columns = c.xp.mesh(x.shape[-2:])
    return rows, columns


def _part(x: Value, begin: int, end: int) -> Value:
    """Some rows of each matrix."""
    return x[(..., slice(begin, end), slice(None))]


def _diagonal(c: Value, line: Value) -> Value:
    """A matrix with a line, which stands as one row, on its diagonal."""
    n = line.shape[-1]
    wide = c.xp.broadcast_to(line, (*line.shape[:-2], n, n))
    rows, columns = _grid(c, wide)
    return c.xp.where(rows == columns, wide, 0.0)


def _inverse_differences(c: Value, line: Value) -> Value:
    """1 / (xⱼ - xᵢ), and 0 where they are equal."""
    apart = line - c.xp.swap_last(line)
    alike = c.xp.equal(apart, 0.0)
    return c.xp.where(alike, 0.0, c.xp.divide(1.0, c.xp.where(alike, 1.0, apart)))


# -- Cholesky ------------------------------------------------------------------------------------------


def _cholesky_delta(c: Value, g: Value, y: Value, x: Value) -> Value:
    xp = c.xp
    rows, columns = _grid(c, y)
    inner = xp.matmul(xp.swap_last(y), xp.where(rows >= columns, g, 0.0))
    inner = xp.where(rows > columns, inner, 0.0) + xp.where(rows == columns, 0.5 * inner, 0.0)
    # L⁻ᵀ Φ L⁻¹, by two solutions
    left = xp.solve(xp.swap_last(y), inner)
    found = xp.swap_last(xp.solve(xp.swap_last(y), xp.swap_last(left)))
    return 0.5 * (found + xp.swap_last(found))


CHOLESKY: Final = Operation(
    "cholesky", Rules(square, lambda c, x: c.xp.cholesky(x), (_cholesky_delta,), batch=rowwise, pure=True)
)


def symmetric(x: ArrayExpression[Any, T, Dv]) -> ArrayLayer[Any, T, Dv]:
    """The symmetric part of each matrix."""
    ruled(arrangement.square, [shape_of_operand(x)])
    return multiply(add(x, matrix_transpose(x)), 0.5)


@composed
def cholesky(x: ArrayExpression[Any, T, Dv], /, *, upper: bool = False) -> ArrayLayer[Any, T, Dv]:
    """The lower triangular L with L Lᵀ = x, or with `upper` its transpose; x is symmetric and positive definite.

    The symmetric part of x is taken.
    Derivative: the symmetric part of L⁻ᵀ Φ(Lᵀ g) L⁻¹, where Φ takes the lower triangle and halves the diagonal.
    Shapes: (..., n, n), that of x. Raises ShapeError for other shapes, numpy.linalg.LinAlgError in the run for a
    matrix that is not positive definite.
    >>> import numpy as np
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 2.0]])).predict().run().tolist()
    [[2.0, 0.0], [1.0, 1.0]]

    Source: Python array API standard, `linalg.cholesky`; I. Murray, "Differentiation of the Cholesky decomposition",
    2016, equation 10.
    """
    lower: ArrayLayer[Any, T, Dv] = apply(CHOLESKY, (symmetric(x),))
    return matrix_transpose(lower) if upper else lower


# -- QR ------------------------------------------------------------------------------------------------


class QRResult(NamedTuple):
    """The factors of `qr`."""

    Q: ArrayLayer[Any, Any, Any]  # Any: shape, element type and device of the matrix
    R: ArrayLayer[Any, Any, Any]


def _qr_delta(c: Value, g: Value, y: Value, x: Value) -> Value:
    xp, m, n = c.xp, x.shape[-2], x.shape[-1]
    q, rt, gq, grt = _part(y, 0, m), _part(y, m, m + n), _part(g, 0, m), _part(g, m, m + n)
    inner = xp.matmul(xp.swap_last(rt), grt) - xp.matmul(xp.swap_last(gq), q)
    rows, columns = _grid(c, inner)
    lower = xp.where(rows > columns, inner, 0.0)
    inner = lower + xp.swap_last(lower) + xp.where(rows == columns, inner, 0.0)
    # (ḡ + Q M) R⁻ᵀ is the transpose of R⁻¹ (…)ᵀ
    return xp.swap_last(xp.solve(xp.swap_last(rt), xp.swap_last(gq + xp.matmul(q, inner))))


QR: Final = Operation(
    "qr", Rules(_packed("mn"), lambda c, x: c.xp.qr(x), (_qr_delta,), batch=rowwise, pure=True)
)


def _rows(x: Any, begin: int, end: int) -> Any:  # Any: layers of one element type
    return getitem(x, (..., slice(begin, end), slice(None)))


@composed
def qr(x: ArrayExpression[Any, T, Dv], /) -> QRResult:
    """Q with orthonormal columns and an upper triangular R with Q R = x: the reduced form.

    Derivative: (ḡ + Q S(R g_Rᵀ - g_Qᵀ Q)) R⁻ᵀ, where S repeats the lower triangle above the diagonal; of a matrix with
    more columns than rows that of its first columns, with R = Qᵀ x. The leading square part must be regular.
    Shapes: Q (..., m, k), R (..., k, n), k the lesser of m and n. Raises ShapeError for fewer than two axes.
    >>> import numpy as np
    >>> q, r = qr(np.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> (q @ r).predict().run().round(12).tolist()
    [[3.0, 1.0], [4.0, 2.0]]

    Source: Python array API standard, `linalg.qr`; S. Walter, L. Lehmann, "Algorithmic differentiation of linear
    algebra functions", 2010.
    """
    shape = shape_of_operand(x)
    m, n = sizes_of(shape)
    if m >= n:
        both: ArrayLayer[Any, T, Dv] = apply(QR, (x,))
        return QRResult(_rows(both, 0, m), matrix_transpose(_rows(both, m, m + n)))
    left, right = (getitem(x, (..., slice(*ends))) for ends in ((0, m), (m, n)))
    both = apply(QR, (left,))
    q, r = _rows(both, 0, m), matrix_transpose(_rows(both, m, m + m))
    turned: Any = matrix_transpose(q)  # Any: as x
    beyond: Any = matmul(turned, right)
    return QRResult(q, concat([r, beyond], axis=-1))


def sizes_of(shape: Shape) -> tuple[int, int]:
    """Rows and columns of each matrix of a stack."""
    if len(shape) < 2:
        raise ShapeError(f"expected a matrix or a stack of them, got shape {shape}")
    return shape[-2], shape[-1]


# -- symmetric eigenvalues -----------------------------------------------------------------------------


class EighResult(NamedTuple):
    """The factors of `eigh`."""

    eigenvalues: ArrayLayer[Any, Any, Any]  # Any: shape, element type and device of the matrix
    eigenvectors: ArrayLayer[Any, Any, Any]


def _infer_eigh(kinds: Sequence[Kind]) -> Kind:
    square(kinds)
    made: Kind = _packed("m1")(kinds)
    return made


def _eigh_delta(c: Value, g: Value, y: Value, x: Value) -> Value:
    xp, n = c.xp, x.shape[-1]
    q, values, gq, gv = _part(y, 0, n), _part(y, n, n + 1), _part(g, 0, n), _part(g, n, n + 1)
    qt = xp.swap_last(q)
    inner = _diagonal(c, gv) + _inverse_differences(c, values) * xp.matmul(qt, gq)
    found = xp.matmul(q, xp.matmul(inner, qt))
    return 0.5 * (found + xp.swap_last(found))


EIGH: Final = Operation(
    "eigh", Rules(_infer_eigh, lambda c, x: c.xp.eigh(x), (_eigh_delta,), batch=rowwise, pure=True)
)


@composed
def eigh(x: ArrayExpression[Any, T, Dv], /) -> EighResult:
    """The eigenvalues λ of each symmetric matrix, in ascending order, and its eigenvectors.

    The eigenvectors are the orthonormal columns of Q. The symmetric part of x is taken: x = Q diag(λ) Qᵀ.
    Derivative: the symmetric part of Q (diag(g_λ) + F ∘ (Qᵀ g_Q)) Qᵀ with Fᵢⱼ = 1 / (λⱼ - λᵢ), and 0 where these are
    equal: the eigenvectors of a repeated eigenvalue are any basis, and what depends on the choice has no derivative.
    Shapes: eigenvalues (..., n), eigenvectors (..., n, n) of x (..., n, n). Raises ShapeError for other shapes.
    >>> import numpy as np
    >>> eigh(np.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.predict().run().tolist()
    [1.0, 2.0]

    Source: Python array API standard, `linalg.eigh`; M. Giles, "An extended collection of matrix derivative results for
    forward and reverse mode algorithmic differentiation", 2008, section 3.1.
    """
    both: ArrayLayer[Any, T, Dv] = apply(EIGH, (symmetric(x),))
    n = both.shape[-1]
    return EighResult(getitem(both, (..., n, slice(None))), _rows(both, 0, n))


@composed
def eigvalsh(x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
    """The eigenvalues of each symmetric matrix, in ascending order; the symmetric part of x is taken.

    Derivative: Q diag(g) Qᵀ with the eigenvectors Q.
    Shapes: (..., n) of x (..., n, n). Raises ShapeError for other shapes.
    >>> import numpy as np
    >>> eigvalsh(np.array([[2.0, 0.0], [0.0, 1.0]])).predict().run().tolist()
    [1.0, 2.0]

    Source: Python array API standard, `linalg.eigvalsh`; M. Giles, 2008, section 3.1, as `eigh`.
    """
    return eigh(x).eigenvalues


# -- singular values -----------------------------------------------------------------------------------


class SVDResult(NamedTuple):
    """The factors of `svd`."""

    U: ArrayLayer[Any, Any, Any]  # Any: shape, element type and device of the matrix
    S: ArrayLayer[Any, Any, Any]
    Vh: ArrayLayer[Any, Any, Any]


def _svd_delta(c: Value, g: Value, y: Value, x: Value) -> Value:
    xp, m, n = c.xp, x.shape[-2], x.shape[-1]
    (u, v, s), (gu, gv, gs) = (
        (_part(z, 0, m), _part(z, m, m + n), _part(z, m + n, m + n + 1)) for z in (y, g)
    )
    t, mul = xp.swap_last, xp.matmul
    f = _inverse_differences(c, s * s)
    none = xp.equal(s, 0.0)
    inverse = xp.where(none, 0.0, xp.divide(1.0, xp.where(none, 1.0, s)))  # one row, beside the columns
    of_u, of_v = mul(t(u), gu), mul(t(v), gv)
    inner = (f * (of_u - t(of_u))) * s + t(s) * (f * (of_v - t(of_v))) + _diagonal(c, gs)
    found = mul(u, mul(inner, t(v)))
    found = found + mul((gu - mul(u, of_u)) * inverse, t(v))
    return found + mul(u * inverse, t(gv - mul(v, of_v)))


SVD: Final = Operation(
    "svd", Rules(_packed("mn1"), lambda c, x: c.xp.svd(x), (_svd_delta,), batch=rowwise, pure=True)
)


@composed
def svd(x: ArrayExpression[Any, T, Dv], /) -> SVDResult:
    """U, S and Vᵀ with U diag(S) Vᵀ = x: singular values in descending order, orthonormal columns; the reduced form.

    Derivative: U [(F ∘ (Uᵀg_U - g_UᵀU)) S + S (F ∘ (Vᵀg_V - g_VᵀV)) + diag(g_S)] Vᵀ + (I - UUᵀ) g_U S⁻¹ Vᵀ
    + U S⁻¹ g_Vᵀ (I - VVᵀ) with Fᵢⱼ = 1 / (Sⱼ² - Sᵢ²); F is 0 where the two are equal and S⁻¹ where S is 0: there the
    vectors are any basis, and what depends on the choice has no derivative.
    Shapes: U (..., m, k), S (..., k), Vh (..., k, n), k the lesser of m and n. Raises ShapeError for fewer than two
    axes.
    >>> import numpy as np
    >>> svd(np.array([[0.0, 2.0], [1.0, 0.0]])).S.predict().run().tolist()
    [2.0, 1.0]

    Source: Python array API standard, `linalg.svd`; J. Townsend, "Differentiating the Singular Value Decomposition",
    2016.
    """
    m, n = sizes_of(shape_of_operand(x))
    both: ArrayLayer[Any, T, Dv] = apply(SVD, (x,))
    s = getitem(both, (..., m + n, slice(None)))
    return SVDResult(_rows(both, 0, m), s, matrix_transpose(_rows(both, m, m + n)))


@composed
def svdvals(x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
    """The singular values of each matrix, in descending order.

    Derivative: U diag(g) Vᵀ.
    Shapes: (..., k) of x (..., m, n), k the lesser of m and n. Raises ShapeError for fewer than two axes.
    >>> import numpy as np
    >>> svdvals(np.array([[0.0, 2.0], [1.0, 0.0]])).predict().run().tolist()
    [2.0, 1.0]

    Source: Python array API standard, `linalg.svdvals`; J. Townsend, 2016, as `svd`.
    """
    return svd(x).S
