"""Convolution and pooling: what windows that slide over images see, multiplied, searched or averaged.

Knows: where windows lie for a stride, a padding and a dilation, and that a delta goes back to every element
that a window has seen.
Refuses to know: how windows are copied out of an array and added back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, Final

from wengert.arrays import Dv, T, is_integer
from wengert.errors import ArgumentError, ShapeError
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, Shape, kind
from wengert.graph.operation import Operation, Rules
from wengert.ops.batching import shaped
from wengert.ops.contraction import einsum
from wengert.ops.indexing import getitem
from wengert.ops.kinds import array_of, common
from wengert.ops.padding import pad

Value = Any  # arrays, or expressions: a rule is written once for both
Pair = tuple[int, int]
IntOrPair = int | tuple[int, int]


def _pair(x: object) -> object:
    """One number for both axes; what is neither a number nor a pair is refused by the shape rule."""
    if is_integer(x):
        return (int(x), int(x))
    return tuple(x) if isinstance(x, list) else x


def _at_least(least: int, **pairs: Pair) -> None:
    for name, pair in pairs.items():
        if not isinstance(pair, tuple) or len(pair) != 2 or not all(map(is_integer, pair)):
            raise ArgumentError(f"{name} is an int or a pair of ints; got {pair!r:.60}")
        if min(pair) < least:
            raise ShapeError(f"{name} {pair}: each has to be at least {least}")


def _images(shape: Shape) -> None:
    if len(shape) != 4:
        raise ShapeError(f"input of shape {shape} is not (batch, channels, height, width)")


def _counts(shape: Shape, size: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Pair:
    """How many windows lie along each of the last two axes."""
    found = []
    for axis, n, k, s, p, d in zip((2, 3), shape[2:], size, stride, padding, dilation, strict=True):
        covers = d * (k - 1) + 1
        if covers > n + 2 * p:
            made = f", which padding makes {n + 2 * p}" if p else ""
            raise ShapeError(f"a window of {covers} does not fit axis {axis} of shape {shape}{made}")
        found.append((n + 2 * p - covers) // s + 1)
    return found[0], found[1]


def _around(padding: Pair) -> tuple[Pair, ...]:
    return ((0, 0), (0, 0), *((p, p) for p in padding))


def _seen(
    c: Value, x: Value, filled: float, size: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> Value:
    """What each window sees, on a new axis: (batch, channels, places in a window, rows, columns)."""
    return c.xp.windows(c.xp.pad(x, _around(padding), filled), size, stride, dilation)


def _unseen(c: Value, parts: Value, size: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Value:
    """A delta of what windows have seen, added up where each element was."""
    batch, channels, height, width = c.shape(0)
    above, before = padding
    shape = (batch, channels, height + 2 * above, width + 2 * before)
    whole = c.xp.unwindows(parts, shape, size, stride, dilation)
    if not above and not before:
        return whole
    return whole[(..., slice(above, above + height), slice(before, before + width))]


def _infer_conv2d(kinds: Sequence[Kind], *, stride: Pair, padding: Pair, dilation: Pair) -> Kind:
    _at_least(1, stride=stride, dilation=dilation)
    _at_least(0, padding=padding)
    _, dtype, device = common(kinds)
    for k in kinds:
        if k.column is not Column.ARRAY:
            raise ShapeError(f"cannot convolve {k.text()}, which is a scalar")
    x, kernel = (k.shape for k in kinds)
    if x is None or kernel is None:
        return kind(Column.ARRAY, None, dtype, device)
    _images(x)
    if len(kernel) != 4:
        raise ShapeError(f"kernel of shape {kernel} is not (output channels, input channels, height, width)")
    if x[1] != kernel[1]:
        raise ShapeError(
            f"cannot convolve {x} with {kernel}: input has {x[1]} channels, kernel expects {kernel[1]}"
        )
    size = (kernel[2], kernel[3])
    _at_least(1, size=size)
    counts = _counts(x, size, stride, padding, dilation)
    return kind(Column.ARRAY, (x[0], kernel[0], *counts), dtype, device)


def _columns(c: Value, x: Value, **places: Pair) -> Value:
    """What windows see, one column a window: (batch, channels times places, windows)."""
    batch, channels, _, _ = c.shape(0)
    _, _, height, width = c.shape(1)
    rows, columns = c.result.shape[2:]
    seen = _seen(c, x, 0.0, (height, width), **places)
    return c.xp.reshape(seen, (batch, channels * height * width, rows * columns))


def _matrix(c: Value, kernel: Value) -> Value:
    out, channels, height, width = c.shape(1)
    return c.xp.reshape(kernel, (out, channels * height * width))


def _lines(c: Value, g: Value) -> Value:
    batch, out, rows, columns = c.result.shape
    return c.xp.reshape(g, (batch, out, rows * columns))


def _conv2d(c: Value, x: Value, kernel: Value, **places: Pair) -> Value:
    return c.xp.reshape(c.xp.matmul(_matrix(c, kernel), _columns(c, x, **places)), c.result.shape)


def _conv2d_input(c: Value, g: Value, y: Value, x: Value, kernel: Value, **places: Pair) -> Value:
    batch, channels, _, _ = c.shape(0)
    _, _, height, width = c.shape(1)
    parts = c.xp.matmul(c.xp.swap_last(_matrix(c, kernel)), _lines(c, g))
    parts = c.xp.reshape(parts, (batch, channels, height * width, *c.result.shape[2:]))
    return _unseen(c, parts, (height, width), **places)


def _conv2d_kernel(c: Value, g: Value, y: Value, x: Value, kernel: Value, **places: Pair) -> Value:
    each = c.xp.matmul(_lines(c, g), c.xp.swap_last(_columns(c, x, **places)))
    return c.xp.reshape(c.xp.sum(each, axis=0), c.shape(1))


def _merged(b: Batch, x: Value, *others: Value, **places: Pair) -> Value:
    """The images of all rows as one batch."""
    result = b.result.shape or ()
    images, *rest = b.shape(0)
    made = b.again(shaped(x, (b.rows * images, *rest)), *others, **places)
    return shaped(made, (b.rows, *result))


def _batched_conv2d(
    b: Batch, x: Value, kernel: Value, *, stride: Pair, padding: Pair, dilation: Pair
) -> Value:
    if not b.stacked[1]:
        return _merged(b, x, kernel, stride=stride, padding=padding, dilation=dilation)
    # A kernel a row: one product for each place in the kernel.
    counts, (height, width) = (b.result.shape or ())[2:], b.shape(1)[2:]
    images = "nbchw" if b.stacked[0] else "bchw"
    x = pad(x, ((0, 0),) * (len(images) - 2) + tuple((p, p) for p in padding))
    total: Value = None
    for u, v in product(range(height), range(width)):
        seen: Value = tuple(
            slice(d * i, d * i + s * (n - 1) + 1, s)
            for i, d, s, n in zip((u, v), dilation, stride, counts, strict=True)
        )
        part = einsum(f"{images},noc->nbohw", getitem(x, (..., *seen)), getitem(kernel, (..., u, v)))
        total = part if total is None else total + part
    return total


CONV2D: Final = Operation(
    "conv2d", Rules(_infer_conv2d, _conv2d, (_conv2d_input, _conv2d_kernel), batch=_batched_conv2d)
)


def conv2d(
    x: ArrayExpression[Any, T, Dv],
    kernel: ArrayExpression[Any, T, Dv],
    /,
    *,
    stride: IntOrPair = 1,
    padding: IntOrPair = 0,
    dilation: IntOrPair = 1,
) -> ArrayLayer[Any, T, Dv]:
    """The cross-correlation of images with a kernel; an int stands for both axes.

    y[b, o, i, j] = Σ_c,u,v x[b, c, i s + u d - p, j s + v d - p] kernel[o, c, u, v], with 0 outside of x.
    Derivative: each element of x gets g times the kernel's element from every window that has seen it; each
    element of the kernel gets g times what it has met, summed over windows and batch.
    Shapes: (batch, channels, height, width) and (output channels, channels, k, l) to (batch, output channels,
    (height + 2p - d (k - 1) - 1) // s + 1, the same of width); one dtype. Raises ShapeError, DTypeError,
    DeviceError.
    >>> import numpy as np
    >>> image, kernel = np.arange(16.0).reshape(1, 1, 4, 4), np.ones((1, 1, 3, 3))
    >>> conv2d(image, kernel).predict().run().tolist()
    [[[[45.0, 54.0], [81.0, 90.0]]]]

    Source: Y. LeCun et al., "Gradient-based learning applied to document recognition", 1998, section II.
    """
    places = (("stride", _pair(stride)), ("padding", _pair(padding)), ("dilation", _pair(dilation)))
    layer: ArrayLayer[Any, T, Dv] = apply(CONV2D, (x, kernel), places)
    return layer


def _infer_pool(kinds: Sequence[Kind], *, size: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Kind:
    _at_least(1, size=size, stride=stride, dilation=dilation)
    _at_least(0, padding=padding)
    if any(p > k // 2 for p, k in zip(padding, size, strict=True)):
        raise ShapeError(f"padding {padding} is more than half of size {size}")
    shape, dtype, device = array_of(kinds)
    if shape is None:
        return kind(Column.ARRAY, None, dtype, device)
    _images(shape)
    counts = _counts(shape, size, stride, padding, dilation)
    return kind(Column.ARRAY, (*shape[:2], *counts), dtype, device)


def _max_pool2d(c: Value, x: Value, **places: Pair) -> Value:
    return c.xp.max(_seen(c, x, -math.inf, **places), axis=2)


def _max_pool2d_delta(c: Value, g: Value, y: Value, x: Value, **places: Pair) -> Value:
    xp, dtype = c.xp, c.result.dtype
    tied = xp.equal(_seen(c, x, -math.inf, **places), xp.expand_dims(y, axis=2))
    if any(places["padding"]):  # where x itself is -inf, padding is as great and takes no part
        inside = _seen(c, xp.ones((1, 1, *c.shape(0)[2:]), dtype), 0.0, **places)
        tied = xp.logical_and(tied, xp.greater(inside, 0.0))
    counts = xp.sum(xp.astype(tied, dtype), axis=2)
    parts = xp.where(tied, xp.expand_dims(g / counts, axis=2), 0.0)
    return _unseen(c, parts, **places)


MAX_POOL2D: Final = Operation(
    "max_pool2d", Rules(_infer_pool, _max_pool2d, (_max_pool2d_delta,), batch=_merged)
)


def _avg_pool2d(c: Value, x: Value, **places: Pair) -> Value:
    return c.xp.mean(_seen(c, x, 0.0, **places), axis=2)


def _avg_pool2d_delta(c: Value, g: Value, y: Value, x: Value, **places: Pair) -> Value:
    batch, channels, rows, columns = c.result.shape
    height, width = places["size"]
    each = c.xp.expand_dims(g / (height * width), axis=2)
    parts = c.xp.broadcast_to(each, (batch, channels, height * width, rows, columns))
    return _unseen(c, parts, **places)


AVG_POOL2D: Final = Operation(
    "avg_pool2d", Rules(_infer_pool, _avg_pool2d, (_avg_pool2d_delta,), batch=_merged)
)


def _pooled(operation: Operation, x: Value, size: object, stride: object, *rest: object) -> Value:
    given = (size, size if stride is None else stride, *rest)
    names = ("size", "stride", "padding", "dilation")
    return apply(operation, (x,), tuple(zip(names, map(_pair, given), strict=True)))


def max_pool2d(
    x: ArrayExpression[Any, T, Dv],
    /,
    size: IntOrPair,
    *,
    stride: IntOrPair | None = None,
    padding: IntOrPair = 0,
    dilation: IntOrPair = 1,
) -> ArrayLayer[Any, T, Dv]:
    """The greatest element that each window sees; windows lie side by side unless `stride` says otherwise.

    Padding is never the greatest: it counts as -inf, and a window of padding alone gives that.
    Derivative: g, in equal parts to all k elements of the window that are greatest: g / k each.
    Shapes: (batch, channels, height, width) to (batch, channels, (height + 2p - d (size - 1) - 1) // s + 1, the
    same of width). Raises ShapeError, also for a padding of more than half of the size.
    >>> import numpy as np
    >>> max_pool2d(np.arange(16.0).reshape(1, 1, 4, 4), 2).predict().run().tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]

    Source: M. Ranzato et al., "Unsupervised learning of invariant feature hierarchies", 2007.
    """
    layer: ArrayLayer[Any, T, Dv] = _pooled(MAX_POOL2D, x, size, stride, padding, dilation)
    return layer


def avg_pool2d(
    x: ArrayExpression[Any, T, Dv],
    /,
    size: IntOrPair,
    *,
    stride: IntOrPair | None = None,
    padding: IntOrPair = 0,
    dilation: IntOrPair = 1,
) -> ArrayLayer[Any, T, Dv]:
    """The mean of what each window sees; windows lie side by side unless `stride` says otherwise.

    Padding is 0 and counts: the sum is divided by the size of the window everywhere.
    Derivative: g / n, to all n elements that the window sees.
    Shapes: (batch, channels, height, width) to (batch, channels, (height + 2p - d (size - 1) - 1) // s + 1, the
    same of width). Raises ShapeError, also for a padding of more than half of the size.
    >>> import numpy as np
    >>> avg_pool2d(np.arange(16.0).reshape(1, 1, 4, 4), 2).predict().run().tolist()
    [[[[2.5, 4.5], [10.5, 12.5]]]]

    Source: Y. LeCun et al., "Gradient-based learning applied to document recognition", 1998, section II.
    """
    layer: ArrayLayer[Any, T, Dv] = _pooled(AVG_POOL2D, x, size, stride, padding, dilation)
    return layer
