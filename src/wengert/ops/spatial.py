"""Convolutions of signals and volumes, and transposed ones of signals, images and volumes.

Knows: how each is made of `conv2d`, or of a product of matrices whose columns are added where windows lie.
Refuses to know: how a convolution of images is computed. Channels are axis 1; where they are last write `moveaxis`.
"""

from __future__ import annotations

import math
from typing import Any

from wengert.arrays import Dv, T
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.ops.backward import unwindows
from wengert.ops.convolution import conv2d
from wengert.ops.families import composed
from wengert.ops.indexing import getitem
from wengert.ops.joining import concat, split
from wengert.ops.kinds import ruled, shape_of_operand
from wengert.ops.linear import matmul
from wengert.ops.manipulation import expand_dims, moveaxis, permute_dims, reshape, squeeze
from wengert.ops.padding import pad
from wengert.ops.windows import IntOrPair, groups_of, several, slides
from wengert_shapes import windows as rules

Value = Any  # arrays and layers
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
    ruled(rules.convolved, [*shapes, places["stride"], places["padding"], places["dilation"]], parts)
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
    batch, out, depth, *sides = ruled(rules.convolved, [shape, kernels, *every], parts)
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
    made = ruled(rules.spread, [shape, kernels, s, p, o, d], parts)
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
        windows = reshape(y, (1, batch * out * wh * ww, before, deep, 1))
        column = ((before, 1), (s[0], 1), (d[0], 1))
        y = unwindows(windows, (1, batch * out * wh * ww, wholes[0], 1), column)
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
