"""Convolutions of signals, images and volumes, and transposed ones.

Knows: which convolution a derivative is, what is left of kernels that have rows or groups of their own; how those of
signals and volumes are made of `conv2d`, and transposed ones of a product whose columns are added where windows lie.
Refuses to know: how a convolution of images is computed, and where windows lie. Channels are axis 1; where they are
last write `moveaxis`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, Final

from wengert.arrays import Dv, T, Value
from wengert.arrays.namespace import Pair
from wengert.errors import ShapeError
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, Shape, kind
from wengert.graph.operation import Operation, Rules
from wengert.ops.backward import unwindows
from wengert.ops.contraction import einsum
from wengert.ops.families import composed
from wengert.ops.indexing import getitem
from wengert.ops.joining import concat, split
from wengert.ops.kinds import common, ruled, shape_of_operand
from wengert.ops.linear import matmul
from wengert.ops.manipulation import expand_dims, moveaxis, pad, permute_dims, reshape, squeeze
from wengert.ops.windows import (
    IntOrPair,
    around,
    groups_of,
    merged,
    several,
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


IntOrTriple = int | tuple[int, int, int]


@composed
def conv1d(
    x: ArrayExpression[Any, T, Dv],
    kernel: ArrayExpression[Any, T, Dv],
    /,
    *,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
) -> ArrayLayer[Any, T, Dv]:
    """The cross-correlation of signals with a kernel, as `conv2d` has it for images.

    y[b, o, i] = Σ_c,u x[b, c, i s + u d - p] kernel[o, c, u], with 0 outside of x.
    Derivative: that of `conv2d`.
    Shapes: (batch, channels, n) and (output channels, channels / groups, k) to (batch, output channels,
    (n + 2p - d (k - 1) - 1) // s + 1). Raises ShapeError, DTypeError.
    >>> import numpy as np
    >>> conv1d(np.arange(4.0).reshape(1, 1, 4), np.ones((1, 1, 2))).predict().run().tolist()
    [[[1.0, 3.0, 5.0]]]

    Source: PyTorch, `torch.nn.functional.conv1d`.
    """
    places, parts = slides(1, stride, padding, dilation), groups_of(groups)
    shapes = [shape_of_operand(x), shape_of_operand(kernel)]
    ruled(windows.convolved, [*shapes, places["stride"], places["padding"], places["dilation"]], parts)
    images: Value = (expand_dims(x, axis=2), expand_dims(kernel, axis=2))
    flat = {what: (least, n) for (what, (n,)), least in zip(places.items(), (1, 0, 1), strict=True)}
    y: Value = conv2d(*images, groups=parts, **flat)
    made: ArrayLayer[Any, T, Dv] = squeeze(y, axis=2)
    return made


@composed
def conv3d(
    x: ArrayExpression[Any, T, Dv],
    kernel: ArrayExpression[Any, T, Dv],
    /,
    *,
    stride: IntOrTriple = 1,
    padding: IntOrTriple = 0,
    dilation: IntOrTriple = 1,
    groups: int = 1,
) -> ArrayLayer[Any, T, Dv]:
    """The cross-correlation of volumes with a kernel, as `conv2d` has it for images.

    Derivative: that of `conv2d`.
    Shapes: (batch, channels, depth, height, width) and (output channels, channels / groups, j, k, l) to (batch, output
    channels, (depth + 2p - d (j - 1) - 1) // s + 1, the same of height and width). Raises ShapeError, DTypeError.
    >>> import numpy as np
    >>> conv3d(np.ones((1, 1, 3, 3, 3)), np.ones((1, 1, 2, 3, 3))).predict().run().tolist()
    [[[[[18.0]], [[18.0]]]]]

    Source: PyTorch, `torch.nn.functional.conv3d`.
    """
    places, parts = slides(3, stride, padding, dilation), groups_of(groups)
    shape, kernels = shape_of_operand(x), shape_of_operand(kernel)
    every = [places["stride"], places["padding"], places["dilation"]]
    batch, out, depth, *sides = ruled(windows.convolved, [shape, kernels, *every], parts)
    s, p, d = (numbers[0] for numbers in every)
    flat = {what: numbers[1:] for what, numbers in places.items()}
    layers: Value = pad(x, ((0, 0), (0, 0), (p, p), (0, 0), (0, 0)))
    total: Value = None
    for u in range(kernels[2]):
        at = slice(u * d, u * d + s * (depth - 1) + 1, s)
        seen: Value = moveaxis(getitem(layers, (slice(None), slice(None), at)), 2, 1)
        images: Value = reshape(seen, (batch * depth, shape[1], *shape[3:]))
        slice_: Value = getitem(kernel, (slice(None), slice(None), u))
        part: Value = conv2d(images, slice_, groups=parts, **flat)
        total = part if total is None else total + part
    made: ArrayLayer[Any, T, Dv] = moveaxis(reshape(total, (batch, depth, out, *sides)), 1, 2)
    return made


def _spread(
    x: Value,
    kernel: Value,
    count: int,
    stride: object,
    padding: object,
    output_padding: object,
    dilation: object,
    groups: int,
) -> Any:  # Any: a layer of the element type and device of x
    """A transposed convolution over `count` axes: what each element makes of a kernel, added where it goes."""
    places, parts = slides(count, stride, padding, dilation), groups_of(groups)
    s, p, d = places["stride"], places["padding"], places["dilation"]
    o = several("output_padding", output_padding, count, 0)
    shape, kernels = shape_of_operand(x), shape_of_operand(kernel)
    made = ruled(windows.spread, [shape, kernels, s, p, o, d], parts)
    if parts > 1:
        pairs = zip(split(x, parts, axis=1), split(kernel, parts), strict=True)
        return concat([_spread(a, b, count, s, p, o, d, 1) for a, b in pairs], axis=1)
    batch, inputs, *sides = shape
    out, *sizes = kernels[1:]
    matrix = permute_dims(reshape(kernel, (inputs, out * math.prod(sizes))), (1, 0))
    y: Value = matmul(matrix, reshape(x, (batch, inputs, math.prod(sides))))
    wholes = [t * (n - 1) + e * (k - 1) + 1 + r for t, n, e, k, r in zip(s, sides, d, sizes, o, strict=True)]
    # the last two axes at once; one that is left over goes the same way, with an axis of size 1 beside it
    (kh, kw), (h, w), (sh, sw), (dh, dw), (wh, ww) = (
        (1, pair[-1]) if count == 1 else pair[-2:] for pair in map(tuple, (sizes, sides, s, d, wholes))
    )
    before, deep = math.prod(sizes[:-2]), math.prod(sides[:-2])
    cut = reshape(y, (batch * out, before, kh * kw, deep, h, w))
    lines = permute_dims(cut, (0, 1, 3, 2, 4, 5))
    many = batch * out * before * deep
    slide = ((kh, kw), (sh, sw), (dh, dw))
    wh = 1 if count == 1 else wh
    y = unwindows(reshape(lines, (1, many, kh * kw, h, w)), (1, many, wh, ww), slide)
    if count == 3:
        y = permute_dims(reshape(y, (batch * out, before, deep, wh * ww)), (0, 3, 1, 2))
        seen = reshape(y, (1, batch * out * wh * ww, before, deep, 1))
        column = ((before, 1), (s[0], 1), (d[0], 1))
        y = unwindows(seen, (1, batch * out * wh * ww, wholes[0], 1), column)
        y = permute_dims(reshape(y, (batch * out, wh * ww, wholes[0])), (0, 2, 1))
    y = reshape(y, (batch, out, *wholes))
    inner = tuple(slice(r, r + n) for r, n in zip(p, made[2:], strict=True))
    return getitem(y, (slice(None), slice(None), *inner))


@composed
def conv_transpose1d(
    x: ArrayExpression[Any, T, Dv],
    kernel: ArrayExpression[Any, T, Dv],
    /,
    *,
    stride: int = 1,
    padding: int = 0,
    output_padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
) -> ArrayLayer[Any, T, Dv]:
    """The transposed convolution of signals, as `conv_transpose2d` has it for images.

    Derivative: that of `conv_transpose2d`.
    Shapes: (batch, channels, n) and (channels, output channels / groups, k) to (batch, output channels,
    (n - 1) s - 2p + d (k - 1) + output_padding + 1). Raises what `conv_transpose2d` raises.
    >>> import numpy as np
    >>> conv_transpose1d(np.array([[[1.0, 2.0]]]), np.ones((1, 1, 2)), stride=2).predict().run().tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]

    Source: PyTorch, `torch.nn.functional.conv_transpose1d`.
    """
    layer: ArrayLayer[Any, T, Dv] = _spread(x, kernel, 1, stride, padding, output_padding, dilation, groups)
    return layer


@composed
def conv_transpose2d(
    x: ArrayExpression[Any, T, Dv],
    kernel: ArrayExpression[Any, T, Dv],
    /,
    *,
    stride: IntOrPair = 1,
    padding: IntOrPair = 0,
    output_padding: IntOrPair = 0,
    dilation: IntOrPair = 1,
    groups: int = 1,
) -> ArrayLayer[Any, T, Dv]:
    """The transpose of `conv2d`: each element of an image adds a kernel to the result, which is larger by the stride.

    y[b, o, i s + u d - p, j s + v d - p] = Σ_c x[b, c, i, j] kernel[c, o, u, v], summed where places are equal.
    Derivative: `conv2d` of g with the kernel for x; for the kernel, g times what it has been multiplied by.
    Shapes: (batch, channels, height, width) and (channels, output channels / groups, k, l) to (batch, output channels,
    (height - 1) s - 2p + d (k - 1) + output_padding + 1, the same of width). Raises ShapeError, also for an
    output_padding that is not less than the stride; DTypeError.
    >>> import numpy as np
    >>> conv_transpose2d(np.ones((1, 1, 1, 2)), np.ones((1, 1, 1, 3)), stride=2).predict().run().tolist()
    [[[[1.0, 1.0, 2.0, 1.0, 1.0]]]]

    Source: V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning", 2016, section 4.
    """
    layer: ArrayLayer[Any, T, Dv] = _spread(x, kernel, 2, stride, padding, output_padding, dilation, groups)
    return layer


@composed
def conv_transpose3d(
    x: ArrayExpression[Any, T, Dv],
    kernel: ArrayExpression[Any, T, Dv],
    /,
    *,
    stride: IntOrTriple = 1,
    padding: IntOrTriple = 0,
    output_padding: IntOrTriple = 0,
    dilation: IntOrTriple = 1,
    groups: int = 1,
) -> ArrayLayer[Any, T, Dv]:
    """The transposed convolution of volumes, as `conv_transpose2d` has it for images.

    Derivative: that of `conv_transpose2d`.
    Shapes: (batch, channels, depth, height, width) and (channels, output channels / groups, j, k, l) to (batch, output
    channels, (depth - 1) s - 2p + d (j - 1) + output_padding + 1, the same of height and width). Raises what
    `conv_transpose2d` raises.
    >>> import numpy as np
    >>> conv_transpose3d(np.ones((1, 1, 1, 1, 2)), np.ones((1, 1, 2, 2, 2))).shape
    (1, 1, 2, 2, 3)

    Source: PyTorch, `torch.nn.functional.conv_transpose3d`.
    """
    layer: ArrayLayer[Any, T, Dv] = _spread(x, kernel, 3, stride, padding, output_padding, dilation, groups)
    return layer
