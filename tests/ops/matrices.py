"""Examples of linear algebra: stacks of small matrices far from singular, eigenvalues and singular values apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import wengert as wg

from . import draw as d
from .example import Example

NUMBERS = d.numbers(-1, 1)
Array = np.ndarray[Any, np.dtype[np.float64]]  # Any: shapes are what varies


@st.composite
def spread(draw: st.DrawFn, shape: tuple[int, ...]) -> Array:
    """Near to a diagonal of 2, 4, 6, ...: regular, singular values apart from each other."""
    x = 0.25 * draw(d.arrays(shape, NUMBERS))
    return np.asarray(x + np.eye(shape[-2], shape[-1]) * (2.0 * np.arange(1, shape[-1] + 1)))


@st.composite
def stacks(draw: st.DrawFn, square: bool = True) -> Array:
    n = draw(st.integers(1, 3))
    m = n if square else draw(st.integers(1, 3))
    return draw(spread((*draw(d.shapes(max_dims=1, min_side=1)), m, n)))


def transposed(xp: Any, x: Any) -> Any:
    """Any: of numpy or of autograd."""
    return xp.swapaxes(x, -1, -2)


def half(xp: Any, x: Any) -> Any:
    """Any: of numpy or of autograd. The symmetric part."""
    return 0.5 * (x + transposed(xp, x))


@st.composite
def one(draw: st.DrawFn, name: str) -> Example:
    """A function of one square matrix, with one result that is as it is in numpy."""
    x, call = draw(stacks()), getattr(wg.linalg, name)
    return Example(call, lambda xp, x: getattr(xp.linalg, name)(x), (x,))


@st.composite
def logarithm(draw: st.DrawFn) -> Example:
    x = draw(stacks())
    return Example(lambda x: wg.linalg.slogdet(x).logabsdet, lambda xp, x: xp.linalg.slogdet(x)[1], (x,))


@st.composite
def cholesky(draw: st.DrawFn) -> Example:
    """Of x xᵀ + I, which is positive definite for every x."""
    x, upper = draw(stacks()), draw(st.booleans())
    ones = np.eye(x.shape[-1])

    def call(x: Any) -> Any:  # Any: expressions
        product = wg.matmul(x, wg.matrix_transpose(x))
        return wg.linalg.cholesky(wg.add(product, ones.astype(product.dtype)), upper=upper)

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        lower = xp.linalg.cholesky(half(xp, xp.matmul(x, transposed(xp, x)) + ones))
        return transposed(xp, lower) if upper else lower

    return Example(call, plain, (x,))


@st.composite
def solve(draw: st.DrawFn) -> Example:
    a = draw(stacks())
    batch = draw(st.sampled_from([(), a.shape[:-2], (2,) * (a.ndim - 2) if a.shape[:-2] == (1,) else ()]))
    k = draw(st.integers(1, 2))
    vector = draw(st.booleans())
    b = draw(d.arrays((a.shape[-1],) if vector else (*batch, a.shape[-1], k), NUMBERS))

    def plain(xp: Any, a: Any, b: Any) -> Any:  # Any: values of numpy or of autograd
        inverse = xp.linalg.inv(a)
        return xp.matmul(inverse, b)

    return Example(wg.linalg.solve, plain, (a, b))


@st.composite
def power(draw: st.DrawFn) -> Example:
    x, n = draw(stacks()) / 4.0, draw(st.sampled_from((-2, -1, 1, 2, 3, 5)))

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        made = np.eye(x.shape[-1]) + 0.0 * x
        base = xp.linalg.inv(x) if n < 0 else x
        for _ in range(abs(n)):
            made = xp.matmul(made, base)
        return made

    return Example(lambda x: wg.linalg.matrix_power(x, n), plain, (x,))


@st.composite
def pinv(draw: st.DrawFn) -> Example:
    """The formula of full rank, that of the side on which the matrix has it."""
    x = draw(stacks(square=False))

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        t = transposed(xp, x)
        if x.shape[-2] >= x.shape[-1]:
            return xp.matmul(xp.linalg.inv(xp.matmul(t, x)), t)
        return xp.matmul(t, xp.linalg.inv(xp.matmul(x, t)))

    return Example(wg.linalg.pinv, plain, (x,))


@st.composite
def symmetric(draw: st.DrawFn, name: str) -> Example:
    """Eigenvalues as they are, eigenvectors by what does not depend on their sign: Q diag(λ²) Qᵀ = x²."""
    x = draw(stacks())
    if name == "eigvalsh":
        return Example(wg.linalg.eigvalsh, lambda xp, x: xp.linalg.eigh(half(xp, x))[0], (x,))

    def call(x: Any) -> Any:  # Any: expressions
        values, vectors = wg.linalg.eigh(x)
        scaled = wg.multiply(vectors, wg.expand_dims(wg.square(values), -2))
        return wg.matmul(scaled, wg.matrix_transpose(vectors))

    return Example(call, lambda xp, x: xp.matmul(half(xp, x), half(xp, x)), (x,))


@st.composite
def svd(draw: st.DrawFn, name: str) -> Example:
    """Singular values as roots of eigenvalues, vectors by a product that does not depend on their sign."""
    x = draw(stacks(square=False))
    if name == "svdvals":

        def values(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
            t = transposed(xp, x)
            gram = xp.matmul(t, x) if x.shape[-2] >= x.shape[-1] else xp.matmul(x, t)
            return xp.sqrt(xp.linalg.eigh(gram)[0])[..., ::-1]

        return Example(wg.linalg.svdvals, values, (x,))

    def call(x: Any) -> Any:  # Any: expressions
        u, s, vh = wg.linalg.svd(x)
        return wg.matmul(wg.multiply(u, wg.expand_dims(wg.pow(s, 3.0), -2)), vh)

    return Example(call, lambda xp, x: xp.matmul(xp.matmul(x, transposed(xp, x)), x), (x,))


@st.composite
def qr(draw: st.DrawFn) -> Example:
    """R with positive numbers on its diagonal, which Cholesky's factor of xᵀx is; Q R² of square matrices beside it."""
    x = draw(stacks(square=False))
    m, n = x.shape[-2:]

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        left = x[..., :, : min(m, n)]
        upper = transposed(xp, xp.linalg.cholesky(xp.matmul(transposed(xp, left), left)))
        q = xp.matmul(left, xp.linalg.inv(upper))
        return xp.matmul(transposed(xp, q), x) + xp.matmul(transposed(xp, q), x) * 0.37

    def call(x: Any) -> Any:  # Any: expressions
        q, r = wg.linalg.qr(x)
        signs = wg.expand_dims(wg.sign(wg.diagonal(r)), -1)
        return wg.multiply(wg.add(r, wg.multiply(wg.matmul(wg.matrix_transpose(q), x), 0.37)), signs)

    return Example(call, plain, (x,))


@st.composite
def products(draw: st.DrawFn, name: str) -> Example:
    rank = 1 if name in ("outer",) else draw(st.integers(1, 2))
    a, b = (draw(d.arrays(tuple(draw(st.integers(1, 3)) for _ in range(rank)), NUMBERS)) for _ in range(2))
    if name == "outer":
        return Example(
            wg.linalg.outer, lambda xp, a, b: xp.reshape(a, (-1, 1)) * xp.reshape(b, (1, -1)), (a, b)
        )
    if name == "kron":
        m, n = a.shape, b.shape

        def plain(xp: Any, a: Any, b: Any) -> Any:  # Any: values of numpy or of autograd
            wide = xp.reshape(a, tuple(k for i in m for k in (i, 1)))
            wide = wide * xp.reshape(b, tuple(k for i in n for k in (1, i)))
            return xp.reshape(wide, tuple(i * j for i, j in zip(m, n, strict=True)))

        return Example(wg.linalg.kron, plain, (a, b))
    if name == "vecdot":
        left, right = draw(d.broadcast_shapes())
        k = draw(st.integers(0, 3))
        pair = draw(d.arrays((*left, k), NUMBERS)), draw(d.arrays((*right, k), NUMBERS))
        return Example(wg.linalg.vecdot, lambda xp, a, b: xp.sum(a * b, axis=-1), pair)
    shape = draw(d.shapes(max_dims=1, min_side=1))
    pair = draw(d.arrays((*shape, 3), NUMBERS)), draw(d.arrays((*shape, 3), NUMBERS))

    def crossed(xp: Any, a: Any, b: Any) -> Any:  # Any: values of numpy or of autograd
        at, behind = [1, 2, 0], [2, 0, 1]
        return a[..., at] * b[..., behind] - a[..., behind] * b[..., at]

    return Example(wg.linalg.cross, crossed, pair)


@st.composite
def norm(draw: st.DrawFn, name: str) -> Example:
    """No element is 0 and no two are equal: there a norm has a corner."""
    kept = draw(st.booleans())
    if name == "vector_norm":
        x = 4.0 * (draw(d.distinct(draw(d.shapes(min_dims=1, min_side=1)))) + 3 / 64)
        order: Any = draw(st.sampled_from((2, 1, 3, 0.5, np.inf, -np.inf)))  # Any: a number
        axis = draw(st.none() | d.axis(x.ndim))

        def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
            size = xp.abs(x)
            if np.isinf(order):
                return (xp.max if order > 0 else xp.min)(size, axis=axis, keepdims=kept)
            return xp.sum(size**order, axis=axis, keepdims=kept) ** (1.0 / order)

        return Example(lambda x: wg.linalg.vector_norm(x, axis=axis, keepdims=kept, ord=order), plain, (x,))
    x = draw(stacks(square=False)) + 1 / 64
    how: Any = draw(st.sampled_from(("fro", "nuc", 1, -1, np.inf, -np.inf, 2, -2)))  # Any: a number or a text
    left = (*x.shape[:-2], *(1,) * (2 * kept))

    def plain_matrix(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        if how == "fro":
            return xp.reshape(xp.sqrt(xp.sum(x * x, axis=(-2, -1))), left)
        if how in ("nuc", 2, -2):
            t = transposed(xp, x)
            gram = xp.matmul(t, x) if x.shape[-2] >= x.shape[-1] else xp.matmul(x, t)
            values = xp.sqrt(xp.linalg.eigh(gram)[0])
            made = xp.sum(values, axis=-1) if how == "nuc" else values[..., -1 if how == 2 else 0]
            return xp.reshape(made, left)
        lines = xp.sum(xp.abs(x), axis=-2 if abs(how) == 1 else -1)
        return xp.reshape((xp.max if how > 0 else xp.min)(lines, axis=-1), left)

    return Example(lambda x: wg.linalg.matrix_norm(x, keepdims=kept, ord=how), plain_matrix, (x,))


@st.composite
def rank(draw: st.DrawFn) -> Example:
    """Matrices of which a row may be another's double."""
    x = np.array(draw(stacks(square=False)))
    if x.shape[-2] > 1 and draw(st.booleans()):
        x[..., -1, :] = 2.0 * x[..., 0, :]
    return Example(wg.linalg.matrix_rank, lambda xp, x: np.asarray(np.linalg.matrix_rank(x)), (x,))
