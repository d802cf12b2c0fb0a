"""Examples of Fourier transforms, beside products with matrices of sines and cosines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

import wengert as wg
from wengert.ops.fourier import fourier as of_pairs

from . import draw as d
from .example import Example

NUMBERS = d.numbers(-3, 3)
NORMS = st.sampled_from(["backward", "ortho", "forward"])
Parts = tuple[Any, Any]  # Any: values of numpy or of autograd


def lines(xp: Any, re: Any, im: Any, n: int, inverse: bool, norm: str) -> Parts:
    """The transform of n elements along the last axis."""
    cut = np.eye(re.shape[-1], n)
    angles = 2.0 * math.pi * np.outer(np.arange(n), np.arange(n)) / n
    c, s = np.cos(angles), np.sin(angles) * (1.0 if inverse else -1.0)
    scale = {"backward": 1.0 / n if inverse else 1.0, "forward": 1.0 if inverse else 1.0 / n}
    re, im = xp.dot(re, cut), xp.dot(im, cut)
    by = scale.get(norm, 1.0 / math.sqrt(n))
    return (xp.dot(re, c) - xp.dot(im, s)) * by, (xp.dot(re, s) + xp.dot(im, c)) * by


def along(xp: Any, re: Any, im: Any, n: int, axis: int, inverse: bool, norm: str) -> Parts:
    real, imag = (xp.moveaxis(part, axis, -1) for part in (re, im))
    first, second = (xp.moveaxis(part, -1, axis) for part in lines(xp, real, imag, n, inverse, norm))
    return first, second


def half(xp: Any, parts: Parts, axis: int, n: int) -> Parts:
    key = (*(slice(None),) * axis, slice(0, n // 2 + 1))
    return parts[0][key], parts[1][key]


def whole(xp: Any, re: Any, im: Any, n: int, axis: int) -> Parts:
    """All frequencies of a real signal, from those from 0 up."""
    of, places = np.zeros((2, re.shape[axis], n)), np.arange(n)
    for k in places:
        at = k if k <= n // 2 else n - k
        if at < re.shape[axis]:
            of[:, at, k] = 1.0, 1.0 if k <= n // 2 else -1.0
    first, second = (
        xp.moveaxis(xp.dot(xp.moveaxis(part, axis, -1), by), -1, axis)
        for part, by in zip((re, im), of, strict=True)
    )
    return first, second


def joined(parts: Any) -> Any:
    """Both parts, of unlike weights, as one array."""
    return wg.concat([parts[0], wg.multiply(parts[1], 0.5)], axis=0)


def beside(xp: Any, parts: Parts) -> Any:
    return xp.concatenate([parts[0], parts[1] * 0.5], axis=0)


@st.composite
def one_axis(draw: st.DrawFn, name: str) -> Example:
    """`fft`, `ifft`, `rfft`, `ihfft`, `irfft` and `hfft`."""
    shape = draw(d.shapes(min_dims=1, max_dims=2, min_side=1))
    axis, norm = draw(st.integers(0, len(shape) - 1)), draw(NORMS)
    back = name in ("irfft", "hfft")
    n = draw(st.integers(1, 5)) if draw(st.booleans()) or (back and shape[axis] == 1) else None
    given: Any = {"axis": axis, "norm": norm, **({} if n is None else {"n": n})}
    length = n or (2 * (shape[axis] - 1) if back else shape[axis])
    inverse, call = name in ("ifft", "irfft", "ihfft"), getattr(wg.fft, name)
    re = draw(d.arrays(shape, NUMBERS))
    if name in ("rfft", "ihfft"):
        return Example(
            lambda x: joined(call(x, **given)),
            lambda xp, x: beside(
                xp, half(xp, along(xp, x, x * 0.0, length, axis, inverse, norm), axis, length)
            ),
            (re,),
        )
    im = draw(d.arrays(shape, NUMBERS))
    if back:
        return Example(
            lambda re, im: call((re, im), **given),
            lambda xp, re, im: along(xp, *whole(xp, re, im, length, axis), length, axis, inverse, norm)[0],
            (re, im),
        )
    return Example(
        lambda re, im: joined(call((re, im), **given)),
        lambda xp, re, im: beside(xp, along(xp, re, im, length, axis, inverse, norm)),
        (re, im),
    )


@st.composite
def axes(draw: st.DrawFn, name: str) -> Example:
    """`fftn`, `ifftn`, `rfftn` and `irfftn` along two axes, in either order, with lengths or without."""
    shape = draw(d.shapes(min_dims=2, max_dims=3, min_side=1))
    shape = tuple(n + 1 for n in shape)
    first, last = draw(st.permutations(range(len(shape))))[:2]
    norm, call, inverse = draw(NORMS), getattr(wg.fft, name), name.startswith("i")
    s = draw(st.tuples(st.integers(1, 3), st.integers(2, 4))) if draw(st.booleans()) else None
    given: Any = {"axes": (first, last), "s": s, "norm": norm}
    n, m = s or (shape[first], 2 * (shape[last] - 1) if name == "irfftn" else shape[last])

    def parts(xp: Any, re: Any, im: Any) -> Parts:
        if name == "irfftn":
            re, im = along(xp, re, im, n, first, True, norm)
            return along(xp, *whole(xp, re, im, m, last), m, last, True, norm)
        both = along(xp, re, im, m, last, inverse, norm)
        both = half(xp, both, last, m) if name == "rfftn" else both
        return along(xp, *both, n, first, inverse, norm)

    re, im = (draw(d.arrays(shape, NUMBERS)) for _ in range(2))
    if name == "rfftn":
        return Example(
            lambda x: joined(call(x, **given)), lambda xp, x: beside(xp, parts(xp, x, x * 0.0)), (re,)
        )
    if name == "irfftn":
        return Example(
            lambda re, im: call((re, im), **given), lambda xp, re, im: parts(xp, re, im)[0], (re, im)
        )
    return Example(
        lambda re, im: joined(call((re, im), **given)),
        lambda xp, re, im: beside(xp, parts(xp, re, im)),
        (re, im),
    )


@st.composite
def shift(draw: st.DrawFn, name: str) -> Example:
    x, call = (
        draw(d.shapes(min_dims=1).flatmap(lambda shape: d.arrays(shape, NUMBERS))),
        getattr(wg.fft, name),
    )
    axis = draw(st.none() | st.integers(0, x.ndim - 1))
    every = range(x.ndim) if axis is None else (axis,)

    def plain(xp: Any, x: Any) -> Any:
        for at in every:
            x = xp.roll(x, x.shape[at] // 2 if name == "fftshift" else -(x.shape[at] // 2), at)
        return x

    return Example(lambda x: call(x, axes=axis), plain, (x,))


@st.composite
def frequencies(draw: st.DrawFn, name: str) -> Example:
    n, distance = draw(st.integers(1, 6)), draw(st.sampled_from([0.5, 1.0, 4.0]))
    return Example(
        lambda: getattr(wg.fft, name)(n, d=distance, dtype=np.float64),
        lambda xp: getattr(np.fft, name)(n, distance),
        (),
    )


@st.composite
def pairs(draw: st.DrawFn) -> Example:
    """The transform that all are made of."""
    shape, inverse = draw(d.shapes(min_dims=1, max_dims=2, min_side=1)), draw(st.booleans())
    x = draw(d.arrays((*shape[:-1], 2, shape[-1]), NUMBERS))

    def plain(xp: Any, x: Any) -> Any:
        norm = "forward" if inverse else "backward"
        return xp.stack(lines(xp, x[..., 0, :], x[..., 1, :], shape[-1], inverse, norm), axis=-2)

    return Example(lambda x: of_pairs(x, inverse), plain, (x,))
