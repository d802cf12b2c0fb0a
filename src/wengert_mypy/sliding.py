"""Shape rules of convolutions, pooling, padding, and images made larger or smaller.

Knows: their parameters: one number for all axes, or one for each.
Refuses to know: the rules, and how a call is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from wengert_mypy.calls import Call, Rule
from wengert_shapes import rules, windows
from wengert_shapes.algebra import ONE, number
from wengert_shapes.rules import Misfit, Shape

_ONES: Final = (ONE, ONE)


def _placed(call: Call, count: int) -> tuple[Shape, Shape, Shape]:
    """Stride, padding and dilation along each of so many axes."""
    ones, zeros = (ONE,) * count, (number(0),) * count
    return call.several("stride", ones), call.several("padding", zeros), call.several("dilation", ones)


def _convolved(call: Call, count: int) -> Shape:
    return windows.convolved(call.shape(0), call.shape(1), *_placed(call, count), call.axis("groups", 1))


def _spread(call: Call, count: int) -> Shape:
    stride, padding, dilation = _placed(call, count)
    beyond = call.several("output_padding", (number(0),) * count)
    x, kernel = call.shape(0), call.shape(1)
    return windows.spread(x, kernel, stride, padding, beyond, dilation, call.axis("groups", 1))


def _resized(call: Call) -> Shape:
    return windows.resized(call.shape(0), call.dims("size"))


def _adapted(call: Call) -> Shape:
    return windows.adapted(call.shape(0), call.several("size", _ONES))


def _shuffled(call: Call) -> Shape:
    return windows.shuffled(call.shape(0), call.axis(1, 1))


def _unshuffled(call: Call) -> Shape:
    return windows.unshuffled(call.shape(0), call.axis(1, 1))


def _pool1d(call: Call) -> Shape:
    (size,) = call.dims("size")
    (step,), (padding,) = call.several("stride", (size,)), call.several("padding", (number(0),))
    x = call.shape(0)
    if len(x) != 3:
        raise Misfit(f"input of shape {rules.text(x)} is not (batch, channels, n)")
    wide = (x[0], x[1], ONE, x[2])
    return *x[:2], windows.pooled(wide, (ONE, size), (ONE, step), (number(0), padding), _ONES)[3]


def _pool(call: Call) -> Shape:
    size = call.several("size", _ONES)
    _, padding, dilation = _placed(call, 2)
    stride = call.several("stride", size)
    return windows.pooled(call.shape(0), size, stride, padding, dilation)


def _pad(call: Call) -> Shape:
    return windows.padded(call.shape(0), call.pairs("widths"))


SLIDING: Final[Mapping[str, Rule]] = {
    "wengert.ops.convolution.conv2d": partial(_convolved, count=2),
    "wengert.ops.spatial.conv1d": partial(_convolved, count=1),
    "wengert.ops.spatial.conv3d": partial(_convolved, count=3),
    "wengert.ops.spatial.conv_transpose1d": partial(_spread, count=1),
    "wengert.ops.spatial.conv_transpose2d": partial(_spread, count=2),
    "wengert.ops.spatial.conv_transpose3d": partial(_spread, count=3),
    "wengert.ops.resampling.interpolate": _resized,
    "wengert.ops.resampling.pixel_shuffle": _shuffled,
    "wengert.ops.resampling.pixel_unshuffle": _unshuffled,
    "wengert.ops.resampling.adaptive_avg_pool2d": _adapted,
    "wengert.ops.resampling.adaptive_max_pool2d": _adapted,
    "wengert.ops.resampling.max_pool1d": _pool1d,
    "wengert.ops.resampling.avg_pool1d": _pool1d,
    "wengert.ops.pooling.max_pool2d": _pool,
    "wengert.ops.pooling.avg_pool2d": _pool,
    "wengert.ops.padding.pad": _pad,
}
