"""The update of a weight matrix as one product that adds in place: `w -= scale * x.T @ d`.

Knows: numpy's own BLAS, through ctypes, and the layouts that it takes.
Refuses to know: where `x` and `d` come from. Whatever does not fit goes through numpy in two steps.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable
from functools import lru_cache
from operator import is_
from typing import Any, Final

import numpy as np

from wengert.arrays.changes import Change
from wengert.arrays.namespace import Shape, Value
from wengert.errors import ShapeError

__all__ = [
    *("LETTERS", "PLAIN", "ROW_MAJOR", "TRANSPOSED"),
    *("address_of", "fused_update", "gemm_of", "is_small", "own_library", "two_step_update"),
]

_SMALL = 8192  # elements of w below which two calls of numpy cost less than one through ctypes
ROW_MAJOR = 101  # these three are CBLAS's numbers
PLAIN, TRANSPOSED = 111, 112
LETTERS: Final[dict[Any, str]] = {  # by dtype, Any of which is looked up; those that BLAS has functions for
    np.dtype(np.float32): "s",
    np.dtype(np.float64): "d",
}
_HEADER = object.__basicsize__  # where CPython ends and numpy's first field, the data pointer, begins

_Gemm = Callable[..., Any]  # reason for Any: a foreign function
_at = ctypes.c_void_p.from_address


def address_of(x: Value) -> int:
    """Address of the first element of `x`: 0.1 us, where `x.ctypes.data` takes 0.75."""
    return _at(id(x) + _HEADER).value or 0


def own_library() -> ctypes.CDLL | None:
    """The BLAS that numpy has loaded already, or None. A second one would bring a second pool."""
    core = sys.modules.get("numpy._core._multiarray_umath")
    path = getattr(core, "__file__", None)
    if path is None or sys.implementation.name != "cpython":
        return None
    try:
        return ctypes.CDLL(path)  # the loader looks a name up in the libraries that this one needs, too
    except OSError:  # numpy is linked statically or loaded from an archive
        return None


@lru_cache(maxsize=64)
def gemm_of(dtype: Any) -> _Gemm | None:  # Any: one of numpy's dtypes
    """`gemm` of numpy's BLAS for matrices of this dtype, or None: two steps then. The first look tries it."""
    library = own_library()
    if library is None or dtype not in LETTERS:
        return None
    letter = LETTERS[dtype]
    real = ctypes.c_float if letter == "s" else ctypes.c_double
    for name, integer in (
        (f"scipy_cblas_{letter}gemm64_", ctypes.c_int64),
        (f"cblas_{letter}gemm64_", ctypes.c_int64),
        (f"scipy_cblas_{letter}gemm", ctypes.c_int),
        (f"cblas_{letter}gemm", ctypes.c_int),
    ):
        gemm = getattr(library, name, None)
        if gemm is None:
            continue
        enum, pointer = ctypes.c_int, ctypes.c_void_p
        gemm.argtypes = (
            *(enum, enum, enum, integer, integer, integer),
            *(real, pointer, integer, pointer, integer, real, pointer, integer),
        )
        gemm.restype = None
        return gemm if _agrees(gemm, letter) else None
    return None


def _agrees(gemm: _Gemm, letter: str) -> bool:
    """A trial on small matrices: the integers' width and the data pointer are as assumed."""
    x = np.arange(6.0).astype(letter.replace("s", "f")).reshape(2, 3)
    d = np.arange(8.0).astype(x.dtype).reshape(2, 4)
    w = np.ones((3, 4), x.dtype)
    if any(address_of(a) != a.ctypes.data for a in (w, x, d)):
        return False
    gemm(
        ROW_MAJOR, TRANSPOSED, PLAIN, 3, 4, 2, -2.0, address_of(x), 3, address_of(d), 4, 1.0, address_of(w), 4
    )
    return bool((w == 1.0 - 2.0 * (x.T @ d)).all())


def _layout(rows: int, columns: int, strides: tuple[int, int], item: int) -> tuple[int, int, int]:
    """`strides` in the terms of BLAS: (order, leading dimension, bytes from the first element to the last).

    The order is 0 where it cannot be told.
    """
    down, across = strides
    if across == item or columns == 1:
        lead = down // item if rows > 1 else columns
        if lead >= columns and (rows == 1 or lead * item == down):
            return PLAIN, lead, (lead * (rows - 1) + columns) * item
    if down == item or rows == 1:
        lead = across // item if columns > 1 else rows
        if lead >= rows and (columns == 1 or lead * item == across):
            return TRANSPOSED, lead, (lead * (columns - 1) + rows) * item
    return 0, 0, 0


def is_small(shape: Shape, /) -> bool:
    """Tell whether the fused update of a weight of this shape is `two_step_update`, whatever is added."""
    return math.prod(shape) < _SMALL


def fused_update(w: Value, x: Value, d: Value, scale: float, /) -> list[Change]:
    """The changes that make `w -= scale * x.T @ d`, for `w` of shape (k, m), `x` of (n, k) and `d` of (n, m).

    >>> w = np.ones((1, 2))
    >>> from wengert.arrays.changes import carry_out
    >>> carry_out(fused_update(w, np.array([[1.0], [2.0]]), np.eye(2), 0.5))
    >>> w
    array([[0.5, 0. ]])
    """
    dtype = w.dtype
    gemm = gemm_of(dtype) if w.size >= _SMALL else None
    if gemm is None or x.dtype != dtype or d.dtype != dtype or not w.flags.writeable:
        return two_step_update(w, x, d, scale)
    if not (x.ndim == d.ndim == w.ndim == 2):
        return two_step_update(w, x, d, scale)
    (n, k), (rows, m) = x.shape, d.shape
    if rows != n or w.shape != (k, m):
        return two_step_update(w, x, d, scale)
    if not (n and k and m):
        return []  # nothing to add, and BLAS refuses a leading dimension of 0
    item = w.itemsize
    order, w_lead, w_size = _layout(k, m, w.strides, item)
    if order == TRANSPOSED:
        return fused_update(w.T, d, x, scale)
    x_order, x_lead, x_size = _layout(n, k, x.strides, item)
    d_order, d_lead, d_size = _layout(n, m, d.strides, item)
    to, left, right = address_of(w), address_of(x), address_of(d)
    if (
        not (order and x_order and d_order)
        or (to | left | right) % item
        or not _apart(to, w_size, left, x_size)
        or not _apart(to, w_size, right, d_size)
    ):
        return two_step_update(w, x, d, scale)
    x_order = PLAIN + TRANSPOSED - x_order  # the product is of x.T
    return [
        (gemm, ROW_MAJOR, x_order, d_order, k, m, n, -scale, left, x_lead, right, d_lead, 1.0, to, w_lead),
        (is_, x, d),  # does nothing: they have to live as long as their addresses count
    ]


def _apart(a: int, a_size: int, b: int, b_size: int) -> bool:
    """True where `a_size` bytes from `a` share none with `b_size` bytes from `b`."""
    return a + a_size <= b or b + b_size <= a


def two_step_update(w: Value, x: Value, d: Value, scale: float, /) -> list[Change]:
    """The update of `fused_update` by a product and a subtraction of numpy's own."""
    step = np.dot(x.T, d)
    if step.shape != w.shape:
        raise ShapeError(
            f"update: x.T @ d has shape {step.shape}, the weight has {w.shape}; "
            f"x has {x.shape}, d has {d.shape}"
        )
    step *= scale
    return [(np.subtract, w, step, w)]
