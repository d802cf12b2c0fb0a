"""Products of a few rows with a large matrix, in slices that BLAS multiplies where they lie.

Knows: that OpenBLAS copies both matrices into an order of its own first, but on some processors has functions
without copies for products of up to a million multiplications; a few rows do not pay for copies of a large matrix.
Refuses to know: other matrices than those in C order, the right one perhaps transposed; numpy has these.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from wengert.arrays import blas
from wengert.arrays.namespace import Shape, Value

__all__ = ["blas_dot", "by_copy", "dot", "is_thin", "product"]

blas_dot: Final = np.dot  # the product that is one call of BLAS, whatever the number of rows

# us of one thread for n rows times 3072 x 64 in float32, whole and in slices: 8 rows 64 and 31, 16 rows 80 and 62,
# 32 rows 137 and 122, 48 rows 175 and 184.
_ROWS: Final = 32
# For n rows times a transposed 512 x 1280: 2 rows 291 and 69, 4 rows 301 and 74, 8 rows 333 and 131, 16 rows 396
# and 223, 32 rows 516 and 421; times 2048 x 5120: 2 rows 6360 and 1791, 16 rows 7815 and 5953.
# And times a transposed 256 x 640, which fewer rows than 5 do not: 5 rows 105 and 32, 12 rows 115 and 65, 20 rows 145
# and 108, 24 rows 140 and 140; in float64 16 rows 202 and 178, 20 rows 211 and 218. Times 64 x 64 slices take longer.
_ROWS_BY_TRANSPOSED: Final = {np.dtype(np.float32): 20, np.dtype(np.float64): 16}
_LEAST_BY_TRANSPOSED: Final = 300_000  # multiplications
_LINES_BY_TRANSPOSED: Final = 192
_RESULTS_WITHOUT_COPIES: Final = 1200  # elements of a result, where the right matrix is transposed
_MOST_BY_COPY: Final = 64
_WITHOUT_COPIES: Final = 1_000_000  # multiplications
_LEAST: Final = 48  # lines of a slice; nothing smaller was measured
# `np.dot` fills its result with zeros, which BLAS then writes over; `np.matmul` does not, gives the same bits, and
# takes longer to begin. For n rows times 128 x 640, us: 16 rows 29.7 and 30.8, 60 rows 79 and 73, 600 rows 664 and 646.
_LARGE: Final = 32_768  # elements of a result
_MATRIX: Final = 16  # rows and columns: what has less is no product of matrices for every BLAS
_CORES: Final = {"SkylakeX", "Cooperlake", "SapphireRapids"}  # OpenBLAS's names for processors with AVX-512


def _core() -> str:
    """The processor that numpy's BLAS has been chosen for; empty where that is not OpenBLAS."""
    library = blas.own_library()
    for name in ("scipy_openblas_get_corename64_", "openblas_get_corename64_", "openblas_get_corename"):
        asked = getattr(library, name, None)
        if asked is not None:
            asked.restype = ctypes.c_char_p
            return str(asked().decode())
    return ""


_SLICED: Final = _core() in _CORES


def is_thin(a: Shape, b: Shape, /) -> bool:
    """Tell whether matrices of these shapes are multiplied in slices.

    >>> is_thin((4, 64), (64, 64))
    False
    """
    rows, lines, columns = a[0], a[1], b[1]
    return rows <= _ROWS and _SLICED and (_is_long(rows, lines, columns) or _is_wide(rows, lines, columns))


def _is_long(rows: int, lines: int, columns: int) -> bool:
    """Tell whether slices of lines pay."""
    return rows * lines * columns > _WITHOUT_COPIES and _slice(rows, lines, columns) >= _LEAST


def _is_wide(rows: int, lines: int, columns: int) -> bool:
    """Tell whether slices of columns would pay, if the right matrix were transposed."""
    large = rows * lines * columns > _LEAST_BY_TRANSPOSED and rows * columns > _RESULTS_WITHOUT_COPIES
    return large and lines >= _LINES_BY_TRANSPOSED and 1 < rows <= max(_ROWS_BY_TRANSPOSED.values())


@lru_cache(maxsize=1024)
def _slice(rows: int, lines: int, columns: int) -> int:
    """Number of lines that are multiplied at once."""
    most = _WITHOUT_COPIES // (rows * columns)
    even = -(-lines // -(-lines // max(most, 1)))  # slices of about the same size
    return min(-(-even // 16) * 16, most)


def _plain(x: Value) -> bool:
    flags = x.flags
    plain: bool = flags.c_contiguous and flags.aligned
    return plain


def dot(a: Value, b: Value, /, out: Value = None) -> Value:
    """`np.dot` of two matrices for which `is_thin` holds; the sums of slices are added one after the other.

    >>> a, b = np.ones((2, 4000)), np.ones((4000, 300))
    >>> dot(a, b).tolist() == np.dot(a, b).tolist()
    True
    """
    gemm = blas.gemm_of(a.dtype)
    (rows, lines), columns = a.shape, b.shape[1]
    back = b.T
    transposed = 1 < rows <= _ROWS_BY_TRANSPOSED.get(a.dtype, 0) and _plain(back)
    sliced = transposed or (_plain(b) and _is_long(rows, lines, columns))
    if gemm is None or not (a.dtype == b.dtype and _plain(a) and sliced):
        return np.dot(a, b, out)
    if transposed:
        return _by_columns(gemm, a, back, np.empty((rows, columns), a.dtype) if out is None else out)
    if out is None:
        out = np.empty((rows, columns), a.dtype)
    size, item = _slice(rows, lines, columns), a.itemsize
    left, right, to = blas.address_of(a), blas.address_of(b), blas.address_of(out)
    for begin in range(0, lines, size):
        count = min(size, lines - begin)
        x, w = left + item * begin, right + item * columns * begin
        gemm(
            *(blas.ROW_MAJOR, blas.PLAIN, blas.PLAIN, rows, columns, count, 1.0, x, lines, w, columns),
            *(0.0 if begin == 0 else 1.0, to, columns),
        )
    return out


# Any: a foreign function
def _by_columns(gemm: Callable[..., Any], a: Value, back: Value, out: Value) -> Value:
    """`a` times the transpose of `back`, some columns of the result at once: each is a sum of its own."""
    (rows, lines), columns, item = a.shape, len(back), a.itemsize
    left, right, to = blas.address_of(a), blas.address_of(back), blas.address_of(out)
    size = max(min(_WITHOUT_COPIES // (rows * lines), _RESULTS_WITHOUT_COPIES // rows), 1)
    size = -(-columns // -(-columns // size))  # slices of about the same size
    for begin in range(0, columns, size):
        count, w = min(size, columns - begin), right + item * lines * begin
        gemm(
            *(blas.ROW_MAJOR, blas.PLAIN, blas.TRANSPOSED, rows, count, lines, 1.0, left, lines, w, lines),
            *(0.0, to + item * begin, columns),
        )
    return out


def by_copy(rows: int, lines: int, columns: int, dtype: Value, /) -> bool:
    """Tell whether many products of so many rows with one transposed matrix are faster with a copy of it in C order.

    32 rows times a transposed 256 x 1024 of float32: 320 us, with the copy 195; to copy takes 760. Only where a trial
    gives the same bits: BLAS has other functions for small matrices.
    """
    few = _ROWS_BY_TRANSPOSED.get(dtype, 0) < rows <= _MOST_BY_COPY and min(lines, columns) >= _MATRIX
    large = rows * lines * columns > _WITHOUT_COPIES
    return few and large and dtype in blas.LETTERS and _alike(rows, lines, columns, dtype)


@lru_cache(maxsize=64)
def _alike(rows: int, lines: int, columns: int, dtype: Value) -> bool:
    """Tell whether BLAS gives the same bits for a transposed matrix and for its copy, by trying."""
    chance = np.random.default_rng(0)
    a, b = (chance.standard_normal(shape).astype(dtype) for shape in ((rows, lines), (columns, lines)))
    same: bool = product(a, b.T).tobytes() == np.dot(a, np.ascontiguousarray(b.T)).tobytes()
    return same


def product(a: Value, b: Value, /, out: Value = None) -> Value:
    """`np.dot` of two matrices of any shapes, in slices where that pays.

    >>> product(np.ones((2, 3)), np.ones((3, 1))).tolist()
    [[3.0], [3.0]]
    """
    if a.ndim == 2 == b.ndim:
        if is_thin(a.shape, b.shape):
            return dot(a, b, out)
        rows, columns = len(a), b.shape[1]
        if rows * columns >= _LARGE and min(rows, columns) >= _MATRIX and a.flags.forc and b.flags.forc:
            return np.matmul(a, b, out)
    return a.dot(b, out)
