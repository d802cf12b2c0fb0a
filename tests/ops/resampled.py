"""Examples of convolutions of one, two and three axes, transposed ones, and of images made larger or smaller."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

import wengert as wg

from . import draw as d
from .example import Example

NUMBERS = d.numbers(-3, 3)


def _placed(xp: Any, sides: tuple[int, ...], at: tuple[int, ...], made: tuple[int, ...], s: int) -> list[Any]:
    """A matrix of 0 and 1 for each axis: row i of the result has the element i s + at of what is as long as `sides`."""
    found = []
    for n, a, m in zip(sides, at, made, strict=True):
        matrix = np.zeros((m, n))
        for i in range(m):
            if 0 <= i * s + a < n:
                matrix[i, i * s + a] = 1.0
        found.append(matrix)
    return found


def _along(xp: Any, x: Any, matrices: list[Any]) -> Any:  # Any: values of numpy or of autograd
    """Each axis behind the channels multiplied by a matrix."""
    for axis, matrix in enumerate(matrices, start=2):
        x = xp.moveaxis(xp.tensordot(matrix, x, ([1], [axis])), 0, axis)
    return x


def _grouped(xp: Any, part: Any, x: Any, sizes: tuple[int, int, int], axis: int) -> Any:  # Any: as above
    """The channels of each group multiplied by its part of a matrix, whose `axis` is that of the input channels."""
    rows, each, groups = sizes
    made = []
    for g in range(groups):
        left, right = part[g * rows : (g + 1) * rows], x[:, g * each : (g + 1) * each]
        made.append(xp.moveaxis(xp.tensordot(left, right, ([axis], [1])), 0, 1))
    return xp.concatenate(made, axis=1)


@st.composite
def correlation(draw: st.DrawFn, name: str, count: int) -> Example:
    batch, groups, each, out = (draw(st.integers(1, 2)) for _ in range(4))
    s, p, e = draw(st.integers(1, 2)), draw(st.integers(0, 1)), draw(st.integers(1, 2))
    sizes = tuple(draw(st.integers(1, 2)) for _ in range(count))
    sides = tuple(e * (k - 1) + 1 + draw(st.integers(0, 1 if count > 1 else 3)) for k in sizes)
    made = tuple((n + 2 * p - e * (k - 1) - 1) // s + 1 for n, k in zip(sides, sizes, strict=True))
    x = draw(d.arrays((batch, groups * each, *sides), NUMBERS))
    kernel = draw(d.arrays((groups * out, each, *sizes), NUMBERS))

    def plain(xp: Any, x: Any, kernel: Any) -> Any:  # Any: values of numpy or of autograd
        total: Any = 0.0
        for place in product(*map(range, sizes)):
            at = tuple(e * u - p for u in place)
            seen = _along(xp, x, _placed(xp, sides, at, made, s))
            part = kernel[(slice(None), slice(None), *place)]
            total = total + _grouped(xp, part, seen, (out, each, groups), 1)
        return total

    options = {"stride": s, "padding": p, "dilation": e, "groups": groups}
    call = getattr(wg, name)
    return Example(lambda x, kernel: call(x, kernel, **options), plain, (x, kernel))


@st.composite
def transposed(draw: st.DrawFn, name: str, count: int) -> Example:
    batch, groups, each, out = (draw(st.integers(1, 2)) for _ in range(4))
    s, e = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    o = draw(st.integers(0, s - 1))
    sizes = tuple(draw(st.integers(1, 2)) for _ in range(count))
    sides = tuple(draw(st.integers(1, 2)) for _ in range(count))
    wholes = tuple((n - 1) * s + e * (k - 1) + o + 1 for n, k in zip(sides, sizes, strict=True))
    p = draw(st.integers(0, 1)) if min(wholes) > 2 else 0
    made = tuple(n - 2 * p for n in wholes)
    x = draw(d.arrays((batch, groups * each, *sides), NUMBERS))
    kernel = draw(d.arrays((groups * each, out, *sizes), NUMBERS))

    def plain(xp: Any, x: Any, kernel: Any) -> Any:  # Any: values of numpy or of autograd
        total: Any = 0.0
        for place in product(*map(range, sizes)):
            at = tuple(e * u - p for u in place)
            spread = [matrix.T for matrix in _placed(xp, made, at, sides, s)]
            part = kernel[(slice(None), slice(None), *place)]
            found = _grouped(xp, part, x, (each, each, groups), 0)
            total = total + _along(xp, found, spread)
        return total

    options = {"stride": s, "padding": p, "output_padding": o, "dilation": e, "groups": groups}
    call = getattr(wg, name)
    return Example(lambda x, kernel: call(x, kernel, **options), plain, (x, kernel))


@st.composite
def interpolate(draw: st.DrawFn) -> Example:
    count = draw(st.integers(1, 3))
    mode = draw(st.sampled_from(("nearest", ("linear", "bilinear", "trilinear")[count - 1])))
    aligned = mode != "nearest" and draw(st.booleans())
    sides, size = (tuple(draw(st.integers(1, 4)) for _ in range(count)) for _ in range(2))
    matrices = []
    for n, m in zip(sides, size, strict=True):
        matrix = np.zeros((m, n))
        for i in range(m):
            place = i * (n - 1) / max(1, m - 1) if aligned else max(0.0, (i + 0.5) * n / m - 0.5)
            left = int(place + 1e-9)
            if mode == "nearest":
                matrix[i, i * n // m] = 1.0
            else:
                matrix[i, left] += 1.0 - (place - left)
                matrix[i, min(left + 1, n - 1)] += place - left
        matrices.append(matrix)
    x = draw(d.arrays((draw(st.integers(1, 2)), 2, *sides), NUMBERS))
    how: Any = {"mode": mode, "align_corners": aligned}  # Any: a text and a truth value
    return Example(lambda x: wg.interpolate(x, size, **how), lambda xp, x: _along(xp, x, matrices), (x,))


@st.composite
def shuffle(draw: st.DrawFn, name: str) -> Example:
    batch, channels, height, width, r = (draw(st.integers(1, 2)) for _ in range(5))
    call = getattr(wg, name)

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        if name == "pixel_shuffle":
            cut = xp.reshape(x, (batch, channels, r, r, height, width))
            return xp.reshape(xp.transpose(cut, (0, 1, 4, 2, 5, 3)), (batch, channels, height * r, width * r))
        cut = xp.reshape(x, (batch, channels, height, r, width, r))
        return xp.reshape(xp.transpose(cut, (0, 1, 3, 5, 2, 4)), (batch, channels * r * r, height, width))

    many = (batch, channels * r * r, height, width)
    x = draw(d.arrays(many if name == "pixel_shuffle" else (batch, channels, height * r, width * r), NUMBERS))
    return Example(lambda x: call(x, r), plain, (x,))


@st.composite
def adaptive(draw: st.DrawFn, name: str) -> Example:
    shape = (
        draw(st.integers(1, 2)),
        draw(st.integers(1, 2)),
        draw(st.integers(1, 4)),
        draw(st.integers(1, 4)),
    )
    size = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    call = getattr(wg, name)

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        reduce = xp.mean if name == "adaptive_avg_pool2d" else xp.max
        rows, columns = (
            [slice(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
            for n, m in zip(shape[2:], size, strict=True)
        )
        parts = [[reduce(x[:, :, row, column], axis=(2, 3)) for column in columns] for row in rows]
        return xp.stack([xp.stack(line, axis=-1) for line in parts], axis=-2)

    return Example(lambda x: call(x, size), plain, (draw(d.distinct(shape)),))


@st.composite
def pool(draw: st.DrawFn, name: str) -> Example:
    size, s = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    p = draw(st.integers(0, size // 2))
    n = size + draw(st.integers(0, 3))
    made = (n + 2 * p - size) // s + 1
    call = getattr(wg, name)

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        filled = 0.0 if name == "avg_pool1d" else -1e3
        edge = np.full((*x.shape[:2], p), filled)
        whole = xp.concatenate([edge, x, edge], axis=2)
        reduce = xp.mean if name == "avg_pool1d" else xp.max
        return xp.stack([reduce(whole[:, :, i * s : i * s + size], axis=2) for i in range(made)], axis=2)

    x = draw(d.distinct((draw(st.integers(1, 2)), draw(st.integers(1, 2)), n)))
    return Example(lambda x: call(x, size, stride=s, padding=p), plain, (x,))
