"""Examples of padding, convolution and pooling: operands, strides and paddings, and the sums as they are written."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

import wengert as wg

from . import draw as d
from .example import Example

Pair = tuple[int, int]
ANY = d.numbers(-3, 3)


def pairs(low: int, high: int) -> st.SearchStrategy[Pair]:
    return st.tuples(st.integers(low, high), st.integers(low, high))


def surrounded(xp: Any, x: Any, padding: Pair, filled: float) -> Any:  # Any: values of numpy or of autograd
    """Joined out of blocks, which autograd can take apart whatever the number is."""
    for axis, p in zip((2, 3), padding, strict=True):
        edge = np.full(tuple(p if i == axis else n for i, n in enumerate(x.shape)), filled)
        x = xp.concatenate([edge, x, edge], axis=axis)
    return x


def seen(
    xp: Any, x: Any, filled: float, size: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> list[Any]:
    """What all windows see at each place, row by row. Any: values of numpy or of autograd."""
    x = surrounded(xp, x, padding, filled)
    down, right = (
        [slice(d * i, n - d * (k - 1 - i), s) for i in range(k)]
        for n, k, s, d in zip(x.shape[2:], size, stride, dilation, strict=True)
    )
    return [x[:, :, rows, columns] for rows, columns in product(down, right)]


@st.composite
def options(draw: st.DrawFn, size: Pair, most: Pair) -> tuple[dict[str, Pair], Pair]:
    """Stride, padding and dilation, and the least size of images on which windows of `size` fit."""
    padding = draw(st.tuples(*(st.integers(0, p) for p in most)))
    places = {"stride": draw(pairs(1, 2)), "padding": padding, "dilation": draw(pairs(1, 2))}
    least = [d * (k - 1) + 1 - 2 * p for d, k, p in zip(places["dilation"], size, padding, strict=True)]
    return places, (max(least[0], 1), max(least[1], 1))


def as_given(draw: st.DrawFn, places: dict[str, Pair]) -> dict[str, Any]:
    """Any: a pair, or the one number that stands for it."""
    return {
        name: pair[0] if pair[0] == pair[1] and draw(st.booleans()) else pair for name, pair in places.items()
    }


@st.composite
def conv2d(draw: st.DrawFn) -> Example:
    size = draw(pairs(1, 3))
    places, (height, width) = draw(options(size, (2, 2)))
    batch, channels, out = (draw(st.integers(0, 2)) for _ in range(3))
    shape = (batch, channels, height + draw(st.integers(0, 2)), width + draw(st.integers(0, 2)))
    given = as_given(draw, places)

    def plain(xp: Any, x: Any, kernel: Any) -> Any:  # Any: values of numpy or of autograd
        parts = seen(xp, x, 0.0, size, **places)
        taps = [kernel[:, :, i, j] for i, j in np.ndindex(size)]
        return sum(xp.einsum("bcij,oc->boij", part, tap) for part, tap in zip(parts, taps, strict=True))

    operands = draw(d.arrays(shape, ANY)), draw(d.arrays((out, channels, *size), ANY))
    return Example(lambda x, kernel: wg.conv2d(x, kernel, **given), plain, operands)


@st.composite
def pool(draw: st.DrawFn, name: str) -> Example:
    size = draw(pairs(1, 3))
    places, (height, width) = draw(options(size, (size[0] // 2, size[1] // 2)))
    if draw(st.booleans()):
        places["stride"] = size
    # a window that dilation carries over the whole image sees padding alone
    height, width = (max(n, d) for n, d in zip((height, width), places["dilation"], strict=True))
    shape = (*draw(pairs(0, 2)), height + draw(st.integers(0, 2)), width + draw(st.integers(0, 2)))
    given = as_given(draw, places)
    if places["stride"] == size and draw(st.booleans()):
        given["stride"] = None
    asked = as_given(draw, {"size": size})["size"]

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        if name == "avg_pool2d":
            parts = seen(xp, x, 0.0, size, **places)
            return sum(parts) / np.float64(math.prod(size))
        best, *rest = seen(xp, x, -math.inf, size, **places)
        for part in rest:
            best = xp.maximum(best, part)
        return best

    x = draw(d.distinct(shape) if name == "max_pool2d" else d.arrays(shape, ANY))
    return Example(lambda x: getattr(wg, name)(x, asked, **given), plain, (x,))


@st.composite
def pad(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes())
    widths = tuple(draw(pairs(0, 2)) for _ in shape)
    value = draw(st.sampled_from((0.0, 1.5)))

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        for axis, (before, after) in enumerate(widths):
            low, high = (
                np.full(tuple(p if i == axis else n for i, n in enumerate(x.shape)), value)
                for p in (before, after)
            )
            x = xp.concatenate([low, x, high], axis=axis)
        return x * 1.0

    return Example(lambda x: wg.pad(x, widths, value=value), plain, (draw(d.arrays(shape, ANY)),))
