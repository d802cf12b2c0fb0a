"""Examples of operations that stand alone: bounds, moments, running sums, conversion, dropout."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import wengert as wg
from wengert.arrays import HOST

from . import draw as d
from .example import Example

NUMBERS = d.numbers(-3, 3)
INSIDE = st.integers(-12, 12).map(lambda i: i / 4)
LOW = st.integers(-8, -1).map(lambda i: i / 4 + 0.125)  # neither tied with an element nor above a high one
HIGH = LOW.map(abs)


@st.composite
def clip(draw: st.DrawFn) -> Example:
    a, b = draw(d.broadcast_shapes())
    x, low, high = draw(d.arrays(a, INSIDE)), draw(d.arrays(b, LOW)), draw(d.arrays(b, HIGH))
    number = draw(HIGH)
    return draw(
        st.sampled_from(
            [
                Example(wg.clip, lambda xp, x, a, b: xp.minimum(xp.maximum(x, a), b), (x, low, high)),
                Example(lambda x, b: wg.clip(x, None, b), lambda xp, x, b: xp.minimum(x, b), (x, high)),
                Example(lambda x: wg.clip(x, -number), lambda xp, x: xp.maximum(x, -number), (x,)),
                Example(lambda x: wg.clip(x), lambda xp, x: x * 1.0, (x,)),
            ]
        )
    )


@st.composite
def moment(draw: st.DrawFn, name: str) -> Example:
    """No two elements are equal, at least two are reduced: elsewhere a deviation has no derivative."""
    shape = draw(d.shapes(min_dims=1, min_side=2))
    axis: Any = draw(st.none() | d.axis(len(shape)) | d.axes(len(shape)).filter(len))  # Any: axes
    options = {"axis": axis, "keepdims": draw(st.booleans())}
    correction: float = draw(st.sampled_from([0, 1, 0.5]))
    reduced = range(len(shape)) if axis is None else np.atleast_1d(axis)
    count = np.float64(np.prod([shape[a] for a in reduced]))
    call = getattr(wg, name)

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        apart = x - xp.sum(x, axis=axis, keepdims=True) / count
        variance = xp.sum(apart * apart, **options) / (count - correction)
        return variance if name == "var" else xp.sqrt(variance)

    x = draw(d.distinct(shape))
    return Example(lambda x: call(x, correction=correction, **options), plain, (x,))


@st.composite
def astype(draw: st.DrawFn) -> Example:
    """To the element type that is there already: any other would round the deltas that are compared."""
    x = draw(d.arrays(draw(d.shapes()), NUMBERS))
    return Example(lambda x: wg.astype(x, x.dtype), lambda xp, x: x * 1.0, (x,))


@st.composite
def to_device(draw: st.DrawFn) -> Example:
    """To the device that is there already: a test of devices has others."""
    x = draw(d.arrays(draw(d.shapes()), NUMBERS))
    return Example(lambda x: wg.to_device(x, "cpu"), lambda xp, x: x * 1.0, (x,))


@st.composite
def dropout(draw: st.DrawFn) -> Example:
    shape, rate, seed = draw(d.shapes()), draw(st.sampled_from([0.0, 0.25, 0.5])), draw(st.integers(0, 9))
    mask = HOST.dropout_mask(shape, np.float64, rate, [seed, 1])
    x = draw(d.arrays(shape, NUMBERS))
    return Example(lambda x: wg.dropout(x, rate, seed=(seed, 1)), lambda xp, x: x * mask, (x,))
