"""Images and signals made larger or smaller: interpolation, pixel shuffling, adaptive pooling, pooling of signals.

Knows: which elements a new one lies between, and which a part of an axis has.
Refuses to know: kernels. Channels are axis 1; for channels that are last write `moveaxis`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from wengert.arrays import HOST, Dv, T, Value, integer_array
from wengert.errors import ArgumentError, ShapeError
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.operand import operand, shown
from wengert.ops.families import composed
from wengert.ops.indexing import getitem, take
from wengert.ops.joining import stack
from wengert.ops.kinds import ruled, shape_of_operand
from wengert.ops.manipulation import expand_dims, permute_dims, reshape, squeeze
from wengert.ops.pooling import avg_pool2d, max_pool2d
from wengert.ops.reduction import max, mean
from wengert.ops.windows import IntOrPair, several
from wengert_shapes import windows as rules

Mode = Literal["nearest", "linear", "bilinear", "trilinear"]
_AXES = {"linear": 1, "bilinear": 2, "trilinear": 3}


@composed
def interpolate(
    x: ArrayExpression[Any, T, Dv],
    /,
    size: int | tuple[int, ...],
    *,
    mode: Mode = "nearest",
    align_corners: bool = False,
) -> ArrayLayer[Any, T, Dv]:
    """x with the axes behind the channels made as long as `size` says, one number for all of them or one for each.

    "nearest" repeats or leaves out elements; "linear", "bilinear" and "trilinear", for one, two and three axes, weigh
    the two that a new one lies between. Elements are as wide as each other, and the two outer borders meet; with
    `align_corners` the centres of the outermost elements do.
    Derivative: g times the same weights, added at the elements that were weighed.
    Shapes: (batch, channels, n, ...) to (batch, channels, *size). Raises ShapeError; ArgumentError for another mode,
    and one that does not fit the axes.
    >>> import numpy as np
    >>> x = np.array([[[0.0, 4.0]]])
    >>> interpolate(x, 4).predict().run().tolist(), interpolate(x, 4, mode="linear").predict().run().tolist()
    ([[[0.0, 0.0, 4.0, 4.0]]], [[[0.0, 1.0, 3.0, 4.0]]])

    Source: PyTorch, `torch.nn.functional.interpolate`.
    """
    shape = shape_of_operand(x)
    if not isinstance(mode, str) or mode not in ("nearest", *_AXES):
        raise ArgumentError(f"mode is one of 'nearest', 'linear', 'bilinear', 'trilinear'; got {shown(mode)}")
    sides = len(shape) - 2
    if mode != "nearest" and sides != _AXES[mode]:
        fits = next((name for name, n in _AXES.items() if n == sides), "nearest")
        raise ArgumentError(f"mode {mode!r} is for {_AXES[mode]} axes behind the channels; write {fits!r}")
    if sides < 1 or 0 in shape[2:]:
        raise ShapeError(
            f"input of shape {shape} is not (batch, channels, n, ...) with elements to interpolate"
        )
    y: Value = x
    for axis, (n, m) in enumerate(zip(shape[2:], several("size", size, sides, 1), strict=True), start=2):
        if n == m:
            continue
        if mode == "nearest":
            y = take(y, integer_array([i * n // m for i in range(m)]), axis=axis)
            continue
        # integers as long as possible: the place of a new element is a fraction of two of them
        of = (m - 1 or 1) if align_corners else 2 * m
        places = [i * (n - 1) if align_corners else (2 * i + 1) * n - m for i in range(m)]
        places = [0 if place < 0 else place for place in places]
        left = [place // of for place in places]
        right = [n - 1 if i + 1 > n - 1 else i + 1 for i in left]
        weights: Value = (
            HOST.astype(integer_array([place % of for place in places]), operand(y)[1].dtype) / of
        )
        share = HOST.reshape(weights, (m, *(1,) * (len(shape) - 1 - axis)))
        y = (
            take(y, integer_array(left), axis=axis) * (1.0 - share)
            + take(y, integer_array(right), axis=axis) * share
        )
    made: ArrayLayer[Any, T, Dv] = reshape(y, shape_of_operand(y)) if y is x else y
    return made


@composed
def pixel_shuffle(x: ArrayExpression[Any, T, Dv], factor: int, /) -> ArrayLayer[Any, T, Dv]:
    """factor² channels of each pixel laid out as factor x factor pixels: an image larger by the factor.

    Derivative: g, at the places from which elements came.
    Shapes: (batch, channels factor², height, width) to (batch, channels, height factor, width factor). Raises
    ShapeError.
    >>> import numpy as np
    >>> pixel_shuffle(np.arange(4.0).reshape(1, 4, 1, 1), 2).predict().run().tolist()
    [[[[0.0, 1.0], [2.0, 3.0]]]]

    Source: W. Shi et al., "Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel Convolutional
    Neural Network", 2016.
    """
    (r,) = several("factor", factor, 1, 1)
    batch, channels, height, width = ruled(rules.shuffled, [shape_of_operand(x)], r)
    cut: Value = reshape(x, (batch, channels, r, r, height // r, width // r))
    made: ArrayLayer[Any, T, Dv] = reshape(
        permute_dims(cut, (0, 1, 4, 2, 5, 3)), (batch, channels, height, width)
    )
    return made


@composed
def pixel_unshuffle(x: ArrayExpression[Any, T, Dv], factor: int, /) -> ArrayLayer[Any, T, Dv]:
    """Squares of factor x factor pixels as factor² channels of one pixel: the inverse of `pixel_shuffle`.

    Derivative: g, at the places from which elements came.
    Shapes: (batch, channels, height, width) to (batch, channels factor², height / factor, width / factor). Raises
    ShapeError.
    >>> import numpy as np
    >>> pixel_unshuffle(np.arange(4.0).reshape(1, 1, 2, 2), 2).shape
    (1, 4, 1, 1)

    Source: PyTorch, `torch.nn.functional.pixel_unshuffle`.
    """
    (r,) = several("factor", factor, 1, 1)
    shape = shape_of_operand(x)
    made = ruled(rules.unshuffled, [shape], r)
    cut: Value = reshape(x, (*shape[:2], made[2], r, made[3], r))
    y: ArrayLayer[Any, T, Dv] = reshape(permute_dims(cut, (0, 1, 3, 5, 2, 4)), made)
    return y


def _adaptive(reduce: Callable[..., Value], x: Value, size: object) -> Value:
    """Each axis in parts that are as long as each other, or one longer, and that share an element where they must."""
    shape = shape_of_operand(x)
    sizes = several("size", size, 2, 1)
    ruled(rules.adapted, [shape, sizes])
    for axis, (n, m) in ((2, (shape[2], sizes[0])), (3, (shape[3], sizes[1]))):
        before = (slice(None),) * axis
        cuts = [(*before, slice(i * n // m, -(-(i + 1) * n // m))) for i in range(m)]
        x = stack([reduce(getitem(x, cut), axis=axis) for cut in cuts], axis=axis)
    return x


@composed
def adaptive_avg_pool2d(x: ArrayExpression[Any, T, Dv], size: IntOrPair, /) -> ArrayLayer[Any, T, Dv]:
    """Means over parts of an image, as many as `size` says: of 1 it is global pooling.

    Part i of m of an axis of n begins at ⌊i n / m⌋ and ends before ⌈(i + 1) n / m⌉.
    Derivative: g over the number of elements of a part, to each of them.
    Shapes: (batch, channels, height, width) to (batch, channels, *size). Raises ShapeError.
    >>> import numpy as np
    >>> adaptive_avg_pool2d(np.arange(4.0).reshape(1, 1, 2, 2), 1).predict().run().tolist()
    [[[[1.5]]]]

    Source: PyTorch, `torch.nn.functional.adaptive_avg_pool2d`.
    """
    made: ArrayLayer[Any, T, Dv] = _adaptive(mean, x, size)
    return made


@composed
def adaptive_max_pool2d(x: ArrayExpression[Any, T, Dv], size: IntOrPair, /) -> ArrayLayer[Any, T, Dv]:
    """The greatest elements of parts of an image, as many as `size` says; the parts are those of `adaptive_avg_pool2d`.

    Derivative: g, to the greatest element of a part; of equal ones in parts.
    Shapes: (batch, channels, height, width) to (batch, channels, *size). Raises ShapeError.
    >>> import numpy as np
    >>> adaptive_max_pool2d(np.arange(4.0).reshape(1, 1, 2, 2), (1, 2)).predict().run().tolist()
    [[[[2.0, 3.0]]]]

    Source: PyTorch, `torch.nn.functional.adaptive_max_pool2d`.
    """
    made: ArrayLayer[Any, T, Dv] = _adaptive(max, x, size)
    return made


def _pooled(pool: Callable[..., Value], x: Value, size: object, stride: object, padding: object) -> Value:
    (width,), (step,) = (
        several(what, n, 1, 1) for what, n in (("size", size), ("stride", size if stride is None else stride))
    )
    (beyond,) = several("padding", padding, 1, 0)
    if len(shape_of_operand(x)) != 3:
        raise ShapeError(f"input of shape {shape_of_operand(x)} is not (batch, channels, n)")
    made = pool(expand_dims(x, axis=2), (1, width), stride=(1, step), padding=(0, beyond))
    return squeeze(made, axis=2)


@composed
def max_pool1d(
    x: ArrayExpression[Any, T, Dv], /, size: int, *, stride: int | None = None, padding: int = 0
) -> ArrayLayer[Any, T, Dv]:
    """The greatest element of each window of a signal, as `max_pool2d` has it for images.

    Derivative: that of `max_pool2d`.
    Shapes: (batch, channels, n) to (batch, channels, (n + 2p - size) // s + 1). Raises what `max_pool2d` raises.
    >>> import numpy as np
    >>> max_pool1d(np.array([[[1.0, 3.0, 2.0, 0.0]]]), 2).predict().run().tolist()
    [[[3.0, 2.0]]]

    Source: PyTorch, `torch.nn.functional.max_pool1d`.
    """
    made: ArrayLayer[Any, T, Dv] = _pooled(max_pool2d, x, size, stride, padding)
    return made


@composed
def avg_pool1d(
    x: ArrayExpression[Any, T, Dv], /, size: int, *, stride: int | None = None, padding: int = 0
) -> ArrayLayer[Any, T, Dv]:
    """The mean of each window of a signal, as `avg_pool2d` has it for images.

    Derivative: that of `avg_pool2d`.
    Shapes: (batch, channels, n) to (batch, channels, (n + 2p - size) // s + 1). Raises what `avg_pool2d` raises.
    >>> import numpy as np
    >>> avg_pool1d(np.array([[[1.0, 3.0, 2.0, 0.0]]]), 2).predict().run().tolist()
    [[[2.0, 1.0]]]

    Source: PyTorch, `torch.nn.functional.avg_pool1d`.
    """
    made: ArrayLayer[Any, T, Dv] = _pooled(avg_pool2d, x, size, stride, padding)
    return made
