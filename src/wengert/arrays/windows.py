"""Room around an array, what windows that slide over its last two axes see, and the way back.

Knows: numpy's strides: a copy of all windows at once takes two thirds of the time of one copy a place.
Refuses to know: what is done with a window.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from wengert.arrays.axes import taps, window_counts
from wengert.arrays.namespace import Pair, Shape, Value

__all__ = ["pad", "unwindows", "windows"]


def pad(x: Value, widths: tuple[Pair, ...], value: float, /) -> Value:
    """`x` with `value` around it: so many elements before and after on each axis.

    >>> pad(np.ones(2), ((1, 2),), 0.5).tolist()
    [0.5, 1.0, 1.0, 0.5, 0.5]
    """
    if not any(map(any, widths)):
        return x
    out = np.full([a + n + b for n, (a, b) in zip(x.shape, widths, strict=True)], value, x.dtype)
    out[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, widths, strict=True))] = x
    return out


def windows(x: Value, size: Pair, stride: Pair, dilation: Pair, /) -> Value:
    """Contents of each window, their places on an axis before the last two.

    >>> windows(np.arange(4.0).reshape(1, 1, 1, 4), (1, 2), (1, 1), (1, 2))[0, 0].tolist()
    [[[0.0, 1.0]], [[2.0, 3.0]]]
    """
    counts = window_counts(x.shape, size, stride, dilation)
    *outer, down, right = x.strides
    steps = (down * dilation[0], right * dilation[1], down * stride[0], right * stride[1])
    view = as_strided(x, (*x.shape[:-2], *size, *counts), (*outer, *steps), writeable=False)
    return view.reshape(*x.shape[:-2], size[0] * size[1], *counts)


def unwindows(g: Value, shape: Shape, size: Pair, stride: Pair, dilation: Pair, /) -> Value:
    """Zeros of `shape` with what each window has seen added where it saw it: the delta of `windows`.

    >>> g = np.ones((1, 1, 2, 1, 3))
    >>> unwindows(g, (1, 1, 1, 4), (1, 2), (1, 1), (1, 1)).tolist()
    [[[[1.0, 2.0, 2.0, 1.0]]]]
    """
    out = np.zeros(shape, g.dtype)
    for place, key in enumerate(taps(shape, size, stride, dilation)):
        out[key] += g[..., place, :, :]
    return out
