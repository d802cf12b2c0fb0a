"""Examples of the operations that derivatives are made of, which no public function calls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

import wengert as wg
from wengert.graph.kinds import Column, kind
from wengert.ops import backward as b

from . import draw as d
from . import transformed
from .example import Example

NUMBERS = d.numbers(-3, 3)
PAIRS = st.tuples(st.integers(1, 2), st.integers(1, 2))


@st.composite
def filled(draw: st.DrawFn) -> Example:
    of = kind(Column.ARRAY, draw(d.shapes()), np.dtype(np.float64))
    value = draw(NUMBERS)
    return Example(lambda: b.filled(value, of), lambda xp: np.full(of.shape or (), value), ())


@st.composite
def item(draw: st.DrawFn) -> Example:
    return Example(b.item, lambda xp, x: x * 1.0, (draw(d.arrays((), NUMBERS)),))


@st.composite
def product(draw: st.DrawFn) -> Example:
    left, right = draw(d.broadcast_shapes())
    operands = draw(d.arrays(left, NUMBERS)), draw(d.arrays(right, NUMBERS))
    return Example(b.safe_product, lambda xp, x, y: x * y, operands)


@st.composite
def guarded(draw: st.DrawFn) -> Example:
    """What is guarded may be infinite where the guard is 0; elsewhere it is itself."""
    shape = draw(d.shapes())
    g, r = (draw(d.arrays(shape, NUMBERS)) for _ in range(2))
    off = np.where(g == 0, np.inf, 0.0) if draw(st.booleans()) else np.zeros(shape)
    return Example(lambda r: b.nonzero_safe(g, wg.add(r, off)), lambda xp, r: xp.where(off > 0, 0.0, r), (r,))


@st.composite
def add_at(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes(min_dims=1, min_side=1))
    keys: list[Any] = [draw(d.indices(shape[0])), slice(None, None, -1), (..., draw(d.indices(shape[-1])))]
    key = draw(st.sampled_from(keys))
    g = draw(d.arrays(np.zeros(shape)[key].shape, NUMBERS))
    whole = np.arange(int(np.prod(shape))).reshape(shape)[key].reshape(-1)

    def plain(xp: Any, g: Any) -> Any:  # Any: values of numpy or of autograd
        hot = np.eye(int(np.prod(shape)))[whole]
        return xp.reshape(xp.dot(xp.reshape(g, (-1,)), hot), shape)

    return Example(lambda g: b.add_at(shape, key, g), plain, (g,))


def _places(shape: Any, slide: Any) -> Any:  # Any: arrays of indices
    """Which element each place of each window is."""
    size, stride, dilation = slide
    counts = [
        (n - e * (k - 1) - 1) // s + 1 for n, k, s, e in zip(shape, size, stride, dilation, strict=True)
    ]
    i, j, p, q = np.ix_(*map(np.arange, (*size, *counts)))
    rows, columns = i * dilation[0] + p * stride[0], j * dilation[1] + q * stride[1]
    return (rows * shape[1] + columns).reshape(size[0] * size[1], *counts)


@st.composite
def windows(draw: st.DrawFn, back: bool) -> Example:
    slide = tuple(draw(PAIRS) for _ in range(3))
    least = [e * (k - 1) + 1 for k, e in zip(slide[0], slide[2], strict=True)]
    shape = (draw(st.integers(1, 2)), *(n + draw(st.integers(0, 2)) for n in least))
    places = _places(shape[1:], slide)
    hot = np.eye(shape[1] * shape[2])[places.reshape(-1)]
    there: Any = slide  # Any: three pairs
    if not back:
        x = draw(d.arrays(shape, NUMBERS))
        return Example(
            lambda x: b.windows(x, there),
            lambda xp, x: xp.reshape(xp.dot(xp.reshape(x, (shape[0], -1)), hot.T), (shape[0], *places.shape)),
            (x,),
        )
    g = draw(d.arrays((shape[0], *places.shape), NUMBERS))
    return Example(
        lambda g: b.unwindows(g, shape, there),
        lambda xp, g: xp.reshape(xp.dot(xp.reshape(g, (shape[0], -1)), hot), shape),
        (g,),
    )


@st.composite
def gate(draw: st.DrawFn) -> Example:
    """The factor of gelu that is kept for the way back."""
    x = draw(d.shapes().flatmap(lambda shape: d.arrays(shape, NUMBERS)))
    return Example(
        lambda x: wg.gelu(x).operands[1],
        lambda xp, x: 0.5 * (1.0 + xp.vectorize(math.erf, [float])(x / 2**0.5)),
        (x,),
    )


BACKWARD: dict[str, st.SearchStrategy[Example]] = {
    "add_at": add_at(),
    "filled": filled(),
    "fourier": transformed.pairs(),
    "gelu_gate": gate(),
    "item": item(),
    "nonzero_safe": guarded(),
    "safe_product": product(),
    "unwindows": windows(True),
    "windows": windows(False),
}
