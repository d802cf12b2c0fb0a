"""Convolution: what windows that slide over images see, multiplied by a kernel.

Knows: which convolution a derivative is, and what is left of kernels that have rows or groups of their own.
Refuses to know: how a convolution is computed, and where windows lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Final

from wengert.arrays import Dv, T
from wengert.errors import ShapeError
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, Shape, kind
from wengert.graph.operation import Operation, Rules
from wengert.ops.contraction import einsum
from wengert.ops.families import composed
from wengert.ops.indexing import getitem
from wengert.ops.joining import concat, split
from wengert.ops.kinds import common, ruled, shape_of_operand
from wengert.ops.manipulation import reshape
from wengert.ops.padding import pad
from wengert.ops.windows import (
    IntOrPair,
    Pair,
    Value,
    around,
    groups_of,
    merged,
    slides,
    unseen,
)
from wengert_shapes import windows


def _infer_conv2d(kinds: Sequence[Kind], *, stride: Pair, padding: Pair, dilation: Pair) -> Kind:
    _, dtype, device = common(kinds)
    for k in kinds:
        if k.column is not Column.ARRAY:
            raise ShapeError(f"cannot convolve {k.text()}, which is a scalar")
    x, kernel = (k.shape for k in kinds)
    if x is None or kernel is None:
        return kind(Column.ARRAY, None, dtype, device)
    return kind(Column.ARRAY, ruled(windows.convolved, [x, kernel, stride, padding, dilation]), dtype, device)


def _lines(c: Value, g: Value) -> Value:
    batch, out, rows, columns = c.result.shape
    return c.xp.reshape(g, (batch, out, rows * columns))


def _conv2d(c: Value, x: Value, kernel: Value, *, stride: Pair, padding: Pair, dilation: Pair) -> Value:
    return c.xp.convolve(x, kernel, stride, padding, dilation)


def _conv2d_input(c: Value, g: Value, y: Value, x: Value, kernel: Value, **places: Pair) -> Value:
    batch, channels, _, _ = c.shape(0)
    out, _, height, width = c.shape(1)
    covered = zip(places["dilation"], (height, width), places["padding"], strict=True)
    down, right = (d * (k - 1) - p for d, k, p in covered)
    if places["stride"] == (1, 1) and min(down, right) >= 0 and out <= 2 * channels:
        # What an element has met lies around it: a convolution of g with the kernel turned round.
        turned = c.xp.permute_dims(kernel[(..., slice(None, None, -1), slice(None, None, -1))], (1, 0, 2, 3))
        return c.xp.convolve(g, turned, (1, 1), (down, right), places["dilation"])
    matrix = c.xp.reshape(kernel, (out, channels * height * width))
    seen = c.xp.matmul(c.xp.swap_last(matrix), _lines(c, g))
    seen = c.xp.reshape(seen, (batch, channels, height * width, *c.result.shape[2:]))
    return unseen(c, seen, (height, width), **places)


def _conv2d_kernel(
    c: Value, g: Value, y: Value, x: Value, kernel: Value, *, stride: Pair, padding: Pair, dilation: Pair
) -> Value:
    return c.xp.convolve_kernel(x, g, c.shape(1)[2:], stride, padding, dilation)


def _batched_conv2d(
    b: Batch, x: Value, kernel: Value, *, stride: Pair, padding: Pair, dilation: Pair
) -> Value:
    if not b.stacked[1]:
        return merged(b, x, kernel, stride=stride, padding=padding, dilation=dilation)
    # A kernel a row: one product for each place in the kernel.
    counts, (height, width) = (b.result.shape or ())[2:], b.shape(1)[2:]
    images = "nbchw" if b.stacked[0] else "bchw"
    x = pad(x, ((0, 0),) * (len(images) - 2) + tuple((p, p) for p in padding))
    return _by_place(f"{images},noc->nbohw", x, kernel, (height, width), counts, stride, dilation)


def _by_place(
    formula: str, x: Value, kernel: Value, size: Pair, counts: Shape, stride: Pair, dilation: Pair
) -> Value:
    """The sum over places in a kernel of products of its elements there and what all windows see there."""
    total: Value = None
    for u, v in product(range(size[0]), range(size[1])):
        seen: Value = tuple(
            slice(d * i, d * i + s * (n - 1) + 1, s)
            for i, d, s, n in zip((u, v), dilation, stride, counts, strict=True)
        )
        part = einsum(formula, getitem(x, (..., *seen)), getitem(kernel, (..., u, v)))
        total = part if total is None else total + part
    return total


CONV2D: Final = Operation(
    "conv2d", Rules(_infer_conv2d, _conv2d, (_conv2d_input, _conv2d_kernel), batch=_batched_conv2d, pure=True)
)


def _in_groups(x: Value, kernel: Value, stride: Pair, padding: Pair, dilation: Pair, groups: int) -> Value:
    """A convolution of each group of channels by itself: products of matrices, or of places where groups are thin."""
    shape, kernels = shape_of_operand(x), shape_of_operand(kernel)
    made = ruled(windows.convolved, [shape, kernels, stride, padding, dilation], groups)
    out, each, height, width = kernels
    if each >= _THIN:
        pairs = zip(split(x, groups, axis=1), split(kernel, groups), strict=True)
        places = (("dilation", dilation), ("padding", padding), ("stride", stride))
        return concat([apply(CONV2D, pair, places) for pair in pairs], axis=1)
    images = pad(x, around(padding))
    cut = reshape(images, (shape[0], groups, each, *shape_of_operand(images)[2:]))
    by_group = reshape(kernel, (groups, out // groups, each, height, width))
    found = _by_place("bgchw,goc->bgohw", cut, by_group, (height, width), made[2:], stride, dilation)
    return reshape(found, made)


_THIN: Final = 8  # channels of a group, below which copies of windows cost more than they save


@composed
def conv2d(
    x: ArrayExpression[Any, T, Dv],
    kernel: ArrayExpression[Any, T, Dv],
    /,
    *,
    stride: IntOrPair = 1,
    padding: IntOrPair = 0,
    dilation: IntOrPair = 1,
    groups: int = 1,
) -> ArrayLayer[Any, T, Dv]:
    """The cross-correlation of images with a kernel; an int stands for both axes.

    y[b, o, i, j] = Σ_c,u,v x[b, c, i s + u d - p, j s + v d - p] kernel[o, c, u, v], with 0 outside of x. In groups
    each part of the output channels sees its part of the input channels only; as many groups as channels are a
    depthwise convolution. For channels that are last write `moveaxis`.
    Derivative: each element of x gets g times the kernel's element from every window that has seen it; each
    element of the kernel gets g times what it has met, summed over windows and batch.
    Shapes: (batch, channels, height, width) and (output channels, channels / groups, k, l) to (batch, output channels,
    (height + 2p - d (k - 1) - 1) // s + 1, the same of width); one dtype. Raises ShapeError, DTypeError,
    DeviceError.
    >>> import numpy as np
    >>> image, kernel = np.arange(16.0).reshape(1, 1, 4, 4), np.ones((1, 1, 3, 3))
    >>> conv2d(image, kernel).predict().run().tolist()
    [[[[45.0, 54.0], [81.0, 90.0]]]]

    Source: Y. LeCun et al., "Gradient-based learning applied to document recognition", 1998, section II.
    """
    places, parts = slides(2, stride, padding, dilation), groups_of(groups)
    made: ArrayLayer[Any, T, Dv] = (
        _in_groups(x, kernel, groups=parts, **places)
        if parts > 1
        else apply(CONV2D, (x, kernel), tuple(places.items()))
    )
    return made
