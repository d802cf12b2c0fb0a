"""Shapes and axes, as the implementations share them: their arithmetic, and what an array does by its own methods.

Knows: tuples of integers, and the methods that arrays of numpy and of cupy have in common.
Refuses to know: whose array it is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from wengert.arrays.namespace import Axis, Pair, Shape, Value

__all__ = ["broadcast_axes", "count", "expanded", "taps", "window_counts"]


@lru_cache(maxsize=4096)
def broadcast_axes(shape: Shape, target: Shape) -> tuple[int, ...]:
    """The axes of `shape` over which something of shape `target` was repeated.

    >>> broadcast_axes((5, 2, 3), (2, 1))
    (0, 2)
    """
    lead = len(shape) - len(target)
    inner = (lead + i for i, n in enumerate(target) if n == 1 and shape[lead + i] != 1)
    return (*range(lead), *inner)


@lru_cache(maxsize=4096)
def count(shape: Shape, axis: Axis) -> int:
    """Number of elements that a reduction of `axis` joins into one.

    >>> count((4, 5, 6), (0, -1))
    24
    """
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    product = 1
    for i in axes:
        product *= shape[i]
    return product


@lru_cache(maxsize=4096)
def expanded(shape: Shape, axis: int | tuple[int, ...]) -> Shape:
    """`shape` with axes of size 1 at the places `axis` of the result.

    >>> expanded((4, 5), (0, -1))
    (1, 4, 5, 1)
    """
    places = (axis,) if isinstance(axis, int) else axis
    rank = len(shape) + len(places)
    for place in places:
        if not -rank <= place < rank:
            raise IndexError(f"axis {place} is out of range for the {rank} axes of the result")
    ones = {place % rank for place in places}
    if len(ones) != len(places):
        raise ValueError(f"axes {places} name one axis of the result twice")
    rest = iter(shape)
    return tuple(1 if i in ones else next(rest) for i in range(rank))


def window_counts(shape: Shape, size: Pair, stride: Pair, dilation: Pair) -> Pair:
    """Number of windows that fit along each of the last two axes.

    >>> window_counts((1, 7, 6), (3, 2), (2, 1), (1, 2))
    (3, 4)
    """
    rows, columns = (
        (n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(shape[-2:], size, stride, dilation, strict=True)
    )
    return rows, columns


@lru_cache(maxsize=4096)
def taps(shape: Shape, size: Pair, stride: Pair, dilation: Pair) -> tuple[tuple[Any, ...], ...]:  # Any: keys
    """For each place in a window, row by row, the key of what all windows see there.

    >>> taps((1, 4), (1, 2), (1, 2), (1, 1))
    ((Ellipsis, slice(0, 1, 1), slice(0, 3, 2)), (Ellipsis, slice(0, 1, 1), slice(1, 4, 2)))
    """
    counts = window_counts(shape, size, stride, dilation)
    rows, columns = (
        [slice(d * i, d * i + s * (n - 1) + 1, s) for i in range(k)]
        for k, s, d, n in zip(size, stride, dilation, counts, strict=True)
    )
    return tuple((..., row, column) for row in rows for column in columns)


def reshape(x: Value, shape: Shape, /) -> Value:
    return x.reshape(shape)


def permute_dims(x: Value, axes: tuple[int, ...], /) -> Value:
    return x.transpose(axes)


def expand_dims(x: Value, /, axis: int | tuple[int, ...]) -> Value:
    return x.reshape(expanded(x.shape, axis))


def squeeze(x: Value, /, axis: int | tuple[int, ...]) -> Value:
    return x.squeeze(axis)
