"""Pooling: what windows that slide over images see, searched or averaged.

Knows: what of a window is kept, and how its delta is divided among what it has seen.
Refuses to know: where windows lie.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, Final

from wengert.arrays import Dv, T, Value
from wengert.arrays.namespace import Pair
from wengert.graph.apply import apply
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, kind
from wengert.graph.operation import Operation, Rules
from wengert.ops.families import composed
from wengert.ops.kinds import array_of, ruled
from wengert.ops.windows import (
    IntOrPair,
    merged,
    seen,
    several,
    slides,
    taps_of,
    unseen,
)
from wengert_shapes import windows

_MOST_TAPS: Final = 16  # places in a window: each is some lines of a program


def _infer_pool(kinds: Sequence[Kind], *, size: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Kind:
    shape, dtype, device = array_of(kinds)
    if shape is not None:
        shape = ruled(windows.pooled, [shape, size, stride, padding, dilation])
    return kind(Column.ARRAY, shape, dtype, device)


def _max_pool2d(c: Value, x: Value, **places: Pair) -> Value:
    if not _few(**places):
        return c.xp.max(seen(c, x, -math.inf, **places), axis=2)
    return reduce(c.xp.maximum, taps_of(c, x, -math.inf, **places))


def _few(size: Pair, **places: Pair) -> bool:
    """Tell whether windows are looked at place by place, which copies nothing."""
    return size[0] * size[1] <= _MOST_TAPS


def _max_pool2d_delta(c: Value, g: Value, y: Value, x: Value, **places: Pair) -> Value:
    xp, size = c.xp, c.shape(0)[2:]
    # padding takes no part, even where x itself is -inf
    inside = xp.ones((1, 1, *size), c.result.dtype) if any(places["padding"]) else None

    def greatest(found: Value, best: Value, within: Value) -> Value:
        tied = xp.equal(found, best)
        if within is not None:
            tied = xp.logical_and(tied, xp.greater(within, 0.0))
        return xp.astype(tied, c.result.dtype)

    if _few(**places):
        found = taps_of(c, x, -math.inf, **places)
        within = [None] * len(found) if inside is None else taps_of(c, inside, 0.0, **places)
        ones = [greatest(tap, y, at) for tap, at in zip(found, within, strict=True)]
        share = g / reduce(add, ones)
        return unseen(c, [xp.nonzero_safe(one, one * share) for one in ones], **places)
    at = None if inside is None else seen(c, inside, 0.0, **places)
    every = greatest(seen(c, x, -math.inf, **places), xp.expand_dims(y, axis=2), at)
    parts = every * xp.expand_dims(g / xp.sum(every, axis=2), axis=2)  # `where` takes six times as long
    return unseen(c, xp.nonzero_safe(every, parts), **places)


MAX_POOL2D: Final = Operation(
    "max_pool2d", Rules(_infer_pool, _max_pool2d, (_max_pool2d_delta,), batch=merged, pure=True)
)


def _avg_pool2d(c: Value, x: Value, **places: Pair) -> Value:
    return c.xp.mean(seen(c, x, 0.0, **places), axis=2)


def _avg_pool2d_delta(c: Value, g: Value, y: Value, x: Value, **places: Pair) -> Value:
    batch, channels, rows, columns = c.result.shape
    height, width = places["size"]
    each = c.xp.expand_dims(g / (height * width), axis=2)
    parts = c.xp.broadcast_to(each, (batch, channels, height * width, rows, columns))
    return unseen(c, parts, **places)


AVG_POOL2D: Final = Operation(
    "avg_pool2d", Rules(_infer_pool, _avg_pool2d, (_avg_pool2d_delta,), batch=merged, pure=True)
)


def _pooled(
    operation: Operation, x: Value, size: object, stride: object, padding: object, dilation: object
) -> Value:
    sizes = several("size", size, 2, 1)
    places = slides(2, sizes if stride is None else stride, padding, dilation)
    return apply(operation, (x,), tuple({**places, "size": sizes}.items()))


@composed
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


@composed
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
