"""Operations that move elements within a shape: flip, roll.

Knows: that both are permutations of elements, so that the derivative is the inverse permutation.
Refuses to know: whether a view or a copy is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from wengert.arrays import Dv, S, T
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, kind
from wengert.graph.operation import Operation, Rules
from wengert.ops.batching import behind, shaped
from wengert.ops.kinds import array_of, axes_in, integers, ruled
from wengert_shapes import arrangement

Value = Any  # arrays, or expressions: a rule is written once for both
Axes = tuple[int, ...] | None


def _infer_flip(kinds: Sequence[Kind], *, axis: Axes) -> Kind:
    shape, dtype, device = array_of(kinds)
    if shape is not None:
        axes_in(axis, shape)
    return kind(Column.ARRAY, shape, dtype, device)


FLIP: Final = Operation(
    "flip",
    Rules(
        _infer_flip,
        lambda c, x, *, axis: c.xp.flip(x, axis=axis),
        (lambda c, g, y, x, *, axis: c.xp.flip(g, axis=axis),),
        batch=lambda b, x, *, axis: b.again(x, axis=behind(axis, b.shape(0))),
        pure=True,
    ),
)


def flip(
    x: ArrayExpression[S, T, Dv], /, *, axis: int | tuple[int, ...] | None = None
) -> ArrayLayer[S, T, Dv]:
    """The elements in reverse order along some axes, all of them if None.

    Derivative: g, flipped back.
    Shapes: that of x. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> flip(np.array([1.0, 2.0, 3.0])).predict().run().tolist()
    [3.0, 2.0, 1.0]

    Source: Python array API standard, `flip`.
    """
    axes = None if axis is None else integers(axis, "flip")
    layer: ArrayLayer[S, T, Dv] = apply(FLIP, (x,), (("axis", axes),))
    return layer


def _infer_roll(kinds: Sequence[Kind], *, axis: Axes, shift: tuple[int, ...]) -> Kind:
    shape, dtype, device = array_of(kinds)
    if shape is not None:
        shape = ruled(arrangement.rolled, [shape], shift, axis)
    return kind(Column.ARRAY, shape, dtype, device)


def _rolled(xp: Value, x: Value, shift: tuple[int, ...], axis: Axes) -> Value:
    if not shift:  # numpy 2.4 fails on no axes of shape ()
        return x
    return xp.roll(x, shift if axis is not None else shift[0], axis=axis)


def _batched_roll(b: Batch, x: Value, *, axis: Axes, shift: tuple[int, ...]) -> Value:
    shape = b.shape(0)
    if axis is not None:
        return b.again(x, axis=behind(axis, shape), shift=shift)
    lines = b.again(shaped(x, (b.rows, math.prod(shape))), axis=(1,), shift=shift)
    return shaped(lines, (b.rows, *shape))


ROLL: Final = Operation(
    "roll",
    Rules(
        _infer_roll,
        lambda c, x, *, axis, shift: _rolled(c.xp, x, shift, axis),
        (lambda c, g, y, x, *, axis, shift: _rolled(c.xp, g, tuple(-n for n in shift), axis),),
        batch=_batched_roll,
        pure=True,
    ),
)


def roll(
    x: ArrayExpression[S, T, Dv],
    /,
    shift: int | tuple[int, ...],
    *,
    axis: int | tuple[int, ...] | None = None,
) -> ArrayLayer[S, T, Dv]:
    """The elements moved forward along some axes; what leaves at the end comes in at the beginning.

    Without an axis the elements move row by row. One shift serves several axes; else there is one for each.
    Derivative: g, rolled back.
    Shapes: that of x. Raises ShapeError for an axis out of range and for shifts that are not one for each axis.
    >>> import numpy as np
    >>> roll(np.array([1.0, 2.0, 3.0]), 1).predict().run().tolist()
    [3.0, 1.0, 2.0]

    Source: Python array API standard, `roll`.
    """
    axes = None if axis is None else integers(axis, "roll")
    shifts = integers(shift, "roll")
    if axes is not None and not isinstance(shift, tuple):
        shifts *= len(axes)
    layer: ArrayLayer[S, T, Dv] = apply(ROLL, (x,), (("axis", axes), ("shift", shifts)))
    return layer
