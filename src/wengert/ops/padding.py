"""Padding: more of an array on every side, all of one number.

Knows: that the delta of what was there is that part of the result's delta.
Refuses to know: who needs the room.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Final

from wengert.arrays import Dv, T, Value, is_integer, is_number
from wengert.errors import ArgumentError
from wengert.graph.apply import apply
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, kind
from wengert.graph.operand import shown
from wengert.graph.operation import Operation, Rules
from wengert.ops.kinds import array_of, ruled
from wengert_shapes import windows

Widths = tuple[tuple[int, int], ...]


def _infer(kinds: Sequence[Kind], *, widths: Widths, value: float) -> Kind:
    shape, dtype, device = array_of(kinds)
    if not isinstance(widths, tuple) or not all(
        isinstance(pair, tuple) and len(pair) == 2 and all(map(is_integer, pair)) for pair in widths
    ):
        raise ArgumentError(f"widths are one pair (before, after) of ints an axis; got {widths!r:.60}")
    if not isinstance(value, Real) or (isinstance(value, int) and not is_number(int(value))):
        raise ArgumentError(f"the value around an array is a number; got {shown(value)}")
    if shape is not None:
        shape = ruled(lambda x, *pairs: windows.padded(x, pairs), [shape, *widths])
    return kind(Column.ARRAY, shape, dtype, device)


def _delta(c: Value, g: Value, y: Value, x: Value, *, widths: Widths, value: float) -> Value:
    sizes = zip(c.shape(0), widths, strict=True)
    return g[tuple(slice(before, before + n) for n, (before, _) in sizes)]


PAD: Final = Operation(
    "pad",
    Rules(
        _infer,
        lambda c, x, *, widths, value: c.xp.pad(x, widths, value),
        (_delta,),
        batch=lambda b, x, *, widths, value: b.again(x, widths=((0, 0), *widths), value=value),
        pure=True,
    ),
)


def pad(
    x: ArrayExpression[Any, T, Dv], /, widths: tuple[tuple[int, int], ...], *, value: float = 0.0
) -> ArrayLayer[Any, T, Dv]:
    """x with `value` around it: widths[i] = (before, after) elements more on axis i.

    Derivative: the part of g where x is.
    Shapes: before + n + after for each axis of n. Raises ShapeError for a negative width or another number of
    axes.
    >>> import numpy as np
    >>> pad(np.ones((1, 2)), ((0, 1), (1, 0))).predict().run().tolist()
    [[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]

    Source: numpy, `pad` with mode "constant".
    """
    pairs = tuple(map(_as_pair, widths)) if isinstance(widths, (tuple, list)) else widths
    layer: ArrayLayer[Any, T, Dv] = apply(PAD, (x,), (("widths", pairs), ("value", value)))
    return layer


def _as_pair(x: object) -> object:
    return tuple(x) if isinstance(x, list) else x
