"""Examples of operations that take an array apart, turn it round, or pick from its lines."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import wengert as wg

from . import draw as d
from .example import Example

NUMBERS = d.numbers(-3, 3)


@st.composite
def split(draw: st.DrawFn) -> Example:
    """One part of all; numpy's cuts may be in any order and beyond the end."""
    shape = draw(d.shapes(min_dims=1))
    at = draw(d.axis(len(shape)))
    sections: Any = draw(st.lists(st.integers(-4, 4), max_size=3).map(tuple))  # Any: a number or indices
    if draw(st.booleans()):
        sections = draw(st.integers(1, 3))
        place = at % len(shape)
        shape = (*shape[:place], shape[place] * sections, *shape[place + 1 :])
    x = draw(d.arrays(shape, NUMBERS))
    edges = np.split(np.arange(x.shape[at]), sections)
    part = draw(st.integers(0, len(edges) - 1))
    rest = (slice(None),) * (at % len(shape))
    return Example(
        lambda x: wg.split(x, sections, axis=at)[part], lambda xp, x: x[(*rest, edges[part])], (x,)
    )


@st.composite
def flip(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes())
    several = draw(d.axes(len(shape)))
    axis: Any = draw(st.sampled_from((None, several, *several)))  # Any: none, one or several axes
    turned = range(len(shape)) if axis is None else [a % len(shape) for a in np.atleast_1d(axis).astype(int)]
    key = tuple(slice(None, None, -1 if i in turned else 1) for i in range(len(shape)))
    return Example(lambda x: wg.flip(x, axis=axis), lambda xp, x: x[key], (draw(d.arrays(shape, NUMBERS)),))


@st.composite
def roll(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes())
    several = draw(d.axes(len(shape)))
    axis: Any = draw(st.sampled_from((None, several, *several)))  # Any: none, one or several axes
    numbers = st.integers(-4, 4)
    shift: Any = draw(numbers)  # Any: one number, or one for each axis
    if isinstance(axis, tuple) and draw(st.booleans()):
        shift = tuple(draw(numbers) for _ in axis)
    places = np.arange(int(np.prod(shape))).reshape(shape)
    places = (np.roll(places, shift, axis) if shape else places).reshape(-1)  # numpy 2.4 fails on shape ()
    return Example(
        lambda x: wg.roll(x, shift, axis=axis),
        lambda xp, x: xp.reshape(xp.reshape(x, (-1,))[places], shape),
        (draw(d.arrays(shape, NUMBERS)),),
    )


@st.composite
def take_along_axis(draw: st.DrawFn) -> Example:
    """The other axes broadcast; equal indices add up."""
    both = draw(npst.mutually_broadcastable_shapes(num_shapes=2, min_dims=2, max_dims=2, max_side=3))
    at = draw(d.axis(3))
    place, size = at % 3, draw(st.integers(1, 3))
    count = draw(st.integers(0, 3))
    shape, sides = (
        (*s[:place], n, *s[place:]) for s, n in zip(both.input_shapes, (size, count), strict=True)
    )
    indices = draw(npst.arrays(np.int64, sides, elements=st.integers(-size, size - 1)))
    key: list[Any] = list(np.ix_(*map(np.arange, shape)))  # Any: index arrays
    key[place] = indices
    return Example(
        lambda x: wg.take_along_axis(x, indices, axis=at),
        lambda xp, x: x[tuple(key)],
        (draw(d.arrays(shape, NUMBERS)),),
    )
