"""Linear algebra over numpy or cupy: inverses, solutions, determinants and factors of stacks of matrices.

Knows: the library's `linalg`; that an operation has one array as its result, so that factors of a matrix stand below
each other in one.
Refuses to know: graphs, and derivatives.
"""

from __future__ import annotations

from typing import Any

from wengert.arrays.namespace import Value


class LinearAlgebra:
    """The functions of `Namespace` that a library's own `linalg` computes."""

    def __init__(self, library: Any) -> None:  # Any: the module numpy, or cupy
        self._library = library

    def inv(self, x: Value, /) -> Value:
        return self._library.linalg.inv(x)

    def solve(self, a: Value, b: Value, /) -> Value:
        return self._library.linalg.solve(a, b)

    def det(self, x: Value, /) -> Value:
        return self._library.linalg.det(x)

    def det_sign(self, x: Value, /) -> Value:
        return self._library.linalg.slogdet(x)[0]

    def logabsdet(self, x: Value, /) -> Value:
        return self._library.linalg.slogdet(x)[1]

    def cholesky(self, x: Value, /) -> Value:
        return self._library.linalg.cholesky(x)

    def pinv(self, x: Value, /) -> Value:
        return self._library.linalg.pinv(x)

    def eigh(self, x: Value, /) -> Value:
        values, vectors = self._library.linalg.eigh(x)
        return self._below(vectors, values[..., None, :])

    def svd(self, x: Value, /) -> Value:
        u, s, vh = self._library.linalg.svd(x, full_matrices=False)
        return self._below(u, vh.swapaxes(-1, -2), s[..., None, :])

    def qr(self, x: Value, /) -> Value:
        q, r = self._library.linalg.qr(x)
        return self._below(q, r.swapaxes(-1, -2))

    def _below(self, *factors: Value) -> Value:
        """Factors of as many columns, below each other."""
        return self._library.concatenate(factors, -2)
