"""Sums, means and extremes over numpy's arrays.

Knows: which of numpy's ways is fastest for which shape.
Refuses to know: graphs, operations, other array libraries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np

from wengert.arrays.axes import broadcast_axes, count
from wengert.arrays.namespace import Axis, Shape, Value

_Reduction = Callable[..., Value]

# numpy declares an overload for each value of keepdims and none for a bool
add_reduce: _Reduction = np.add.reduce
prod: _Reduction = np.multiply.reduce
max_reduce: _Reduction = np.maximum.reduce
min_reduce: _Reduction = np.minimum.reduce

SHORT: Final = 4096  # the longest sum that goes through BLAS: beyond, numpy's pairwise sum is more exact


@lru_cache(maxsize=256)
def ones_of(n: int, dtype: Value) -> Value:
    """A vector of ones that nobody changes."""
    ones = np.ones(n, dtype)
    ones.flags.writeable = False
    return ones


def sum(x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    # A product with ones takes a third of the time of a short sum, and half of that over one axis of a matrix.
    if axis is None and x.ndim == 1 and x.dtype.kind == "f" and not keepdims and len(x) <= SHORT:
        return x.dot(ones_of(len(x), x.dtype))
    if axis is None or keepdims or x.ndim != 2 or x.dtype.kind != "f":
        return add_reduce(x, axis=axis, keepdims=keepdims)
    rows, columns = x.shape
    if axis in (0, -2) and rows <= SHORT:
        return ones_of(rows, x.dtype).dot(x)
    if axis in (1, -1) and columns <= SHORT:
        return x.dot(ones_of(columns, x.dtype))
    return add_reduce(x, axis=axis)


def mean(x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    return np.true_divide(sum(x, axis, keepdims), count(x.shape, axis))


def max(x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    return max_reduce(x, axis=axis, keepdims=keepdims)


def min(x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    return min_reduce(x, axis=axis, keepdims=keepdims)


def greatest(x: Value, /, axis: Axis) -> Value:
    """The greatest element of each line, kept as an axis of size 1; -infinity where there is none."""
    return max_reduce(x, axis=axis, keepdims=True, initial=-math.inf)


def sum_to(g: Value, shape: Shape, /) -> Value:
    have = g.shape
    if have == shape:
        return g
    if not shape:
        return sum(g)
    if len(have) == 2 and have[1:] == shape:
        return sum(g, 0)  # the delta of a bias
    axes = broadcast_axes(have, shape)
    return sum(g, axes[0] if len(axes) == 1 else axes).reshape(shape)
