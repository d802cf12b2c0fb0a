"""Shape rules of convolutions, pooling, padding, and images made larger or smaller.

Knows: their parameters: one number for all axes, or one for each.
Refuses to know: the rules, and how a call is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mypy.types import NoneType, get_proper_type

from wengert_mypy.calls import Call, Rule
from wengert_shapes import rules, windows
from wengert_shapes.algebra import ONE, number
from wengert_shapes.rules import Misfit, Shape

_ONES: Final = (ONE, ONE)
_ZEROS: Final = (number(0), number(0))


def _conv2d(call: Call) -> Shape:
    stride, padding, dilation = (
        call.pair("stride", _ONES),
        call.pair("padding", _ZEROS),
        call.pair("dilation", _ONES),
    )
    groups = call.axis("groups", 1)
    if groups != 1:
        return windows.correlated(call.shape(0), call.shape(1), stride, padding, dilation, groups)
    return windows.convolved(call.shape(0), call.shape(1), stride, padding, dilation)


def _of_axes(call: Call, of: str, count: int, default: int) -> Shape:
    """One number for all axes, or one for each."""
    if call.type(of) is None:
        return (number(default),) * count
    sizes = call.dims(of)
    return sizes * count if len(sizes) == 1 else sizes


def _correlated(count: int) -> Rule:
    def rule(call: Call) -> Shape:
        stride, padding, dilation = (
            _of_axes(call, of, count, default)
            for of, default in (("stride", 1), ("padding", 0), ("dilation", 1))
        )
        return windows.correlated(
            call.shape(0), call.shape(1), stride, padding, dilation, call.axis("groups", 1)
        )

    return rule


def _spread(count: int) -> Rule:
    def rule(call: Call) -> Shape:
        stride, padding, beyond, dilation = (
            _of_axes(call, of, count, default)
            for of, default in (("stride", 1), ("padding", 0), ("output_padding", 0), ("dilation", 1))
        )
        x, kernel = call.shape(0), call.shape(1)
        return windows.spread(x, kernel, stride, padding, beyond, dilation, call.axis("groups", 1))

    return rule


def _resized(call: Call) -> Shape:
    return windows.resized(call.shape(0), call.dims("size"))


def _adapted(call: Call) -> Shape:
    return windows.adapted(call.shape(0), call.pair("size", _ONES))


def _shuffled(call: Call) -> Shape:
    return windows.shuffled(call.shape(0), call.axis(1, 1))


def _unshuffled(call: Call) -> Shape:
    return windows.unshuffled(call.shape(0), call.axis(1, 1))


def _pool1d(call: Call) -> Shape:
    (size,) = call.dims("size")
    stride = call.type("stride")
    (step,) = (
        (size,) if stride is None or isinstance(get_proper_type(stride), NoneType) else call.dims("stride")
    )
    (padding,) = _of_axes(call, "padding", 1, 0)
    x = call.shape(0)
    if len(x) != 3:
        raise Misfit(f"input of shape {rules.text(x)} is not (batch, channels, n)")
    wide = (x[0], x[1], ONE, x[2])
    return *x[:2], windows.pooled(wide, (ONE, size), (ONE, step), (number(0), padding), _ONES)[3]


def _pool(call: Call) -> Shape:
    size = call.pair("size", _ONES)
    stride, padding, dilation = (
        call.pair("stride", size),
        call.pair("padding", _ZEROS),
        call.pair("dilation", _ONES),
    )
    return windows.pooled(call.shape(0), size, stride, padding, dilation)


def _pad(call: Call) -> Shape:
    return windows.padded(call.shape(0), call.pairs("widths"))


SLIDING: Final[Mapping[str, Rule]] = {
    "wengert.ops.convolution.conv2d": _conv2d,
    "wengert.ops.spatial.conv1d": _correlated(1),
    "wengert.ops.spatial.conv3d": _correlated(3),
    "wengert.ops.spatial.conv_transpose1d": _spread(1),
    "wengert.ops.spatial.conv_transpose2d": _spread(2),
    "wengert.ops.spatial.conv_transpose3d": _spread(3),
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
