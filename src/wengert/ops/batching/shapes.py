"""Rules about shapes, and the three operations that give operands the form that rules want.

Knows: that the axis of rows comes first, so that axes counted from the front move by one, and that operands of
different ranks have to be given their axes of size 1 by hand once rows stand before them.
Refuses to know: which operation asks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from wengert.arrays import Axis, Value
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.kinds import Column, Kind, Shape, kind
from wengert.graph.node import Expression
from wengert.graph.operation import Operation, Rules
from wengert.ops.kinds import axes_in, reduced_shape

_ARRAYS: Final = frozenset({Column.ARRAY, Column.MASK, Column.INDEX})


def _shaped_kind(kinds: Sequence[Kind], *, shape: Shape) -> Kind:
    (of,) = kinds
    column = of.column if of.column in _ARRAYS else Column.ARRAY
    return kind(column, shape, of.dtype, of.device)


def _repeat(c: Value, x: Value, *, shape: Shape) -> Value:
    if c.kinds[0].shape:
        return c.xp.broadcast_to(x, shape)
    return c.xp.full(shape, x, c.result.dtype)


# As `reshape`, `broadcast_to` and `permute_dims`, but for masks, indices and numbers too; made by rules, not listed.
SHAPED: Final = Operation(
    "shaped",
    Rules(
        _shaped_kind,
        lambda c, x, *, shape: c.xp.reshape(x, shape),
        (lambda c, g, y, x, *, shape: c.xp.reshape(g, c.shape(0)),),
        pure=True,
    ),
    listed=False,
)
REPEATED: Final = Operation(
    "repeated",
    Rules(_shaped_kind, _repeat, (lambda c, g, y, x, *, shape: g,), broadcasts=True, pure=True),
    listed=False,
)
PERMUTED: Final = Operation(
    "permuted",
    Rules(
        lambda kinds, *, axes: _shaped_kind(kinds, shape=tuple((kinds[0].shape or ())[a] for a in axes)),
        lambda c, x, *, axes: c.xp.permute_dims(x, axes),
        (lambda c, g, y, x, *, axes: c.xp.permute_dims(g, tuple(map(axes.index, range(len(axes))))),),
        pure=True,
    ),
    listed=False,
)


def shaped(x: Value, shape: Shape) -> Value:
    """x in another shape; x itself where it has that."""
    own = x.kind.shape if isinstance(x, Expression) else x.shape
    return x if own == shape else apply(SHAPED, (x,), (("shape", shape),))


def repeated(x: Value, shape: Shape) -> Value:
    """x along new leading axes, and along axes of size 1."""
    return apply(REPEATED, (x,), (("shape", shape),))


def moved(x: Value, count: int, source: int, to: int) -> Value:
    """`count` axes from `source` on moved so that they begin at `to`."""
    if source == to:
        return x
    order = list(range(len(x.shape)))
    moving = order[source : source + count]
    del order[source : source + count]
    order[to:to] = moving
    return apply(PERMUTED, (x,), (("axes", tuple(order)),))


def all_stacked(b: Batch, xs: Sequence[Value]) -> list[Value]:
    """Every operand with the axis of rows; one that all rows share is repeated."""
    return [x if b.stacked[i] else repeated(x, (b.rows, *b.shape(i))) for i, x in enumerate(xs)]


def deepened(b: Batch, index: int, x: Value, rank: int) -> Value:
    """An operand with `rank` axes besides that of rows: axes of size 1 go before its own."""
    own = b.shape(index)
    return shaped(x, (b.rows if b.stacked[index] else 1, *(1,) * (rank - len(own)), *own))


def aligned(b: Batch, *xs: Value, **attributes: Any) -> Value:  # Any: as in `Batch.again`
    """The rule of operations on elements that broadcast."""
    result = b.result.shape or ()
    whole = any(s and b.kinds[i].shape == result for i, s in enumerate(b.stacked))
    operands = list(xs)
    for i, x in enumerate(xs):
        shape = b.kinds[i].shape  # of a number, which has no axes, too
        # What all rows share finds its place from behind, if another operand has the shape of the result.
        if shape != result if b.stacked[i] else shape and not whole:
            operands[i] = deepened(b, i, x, len(result))
    return b.again(*operands, **attributes)


def along(b: Batch, x: Value, *, axis: int, **attributes: Any) -> Value:  # Any: as in `Batch.again`
    """The rule of operations on each line along an axis."""
    return b.again(x, axis=axis if axis < 0 else axis + 1, **attributes)


def behind(axis: Axis, shape: Shape) -> tuple[int, ...]:
    """Axes of a row, all of them if None, as axes of the rows."""
    return tuple(a + 1 for a in axes_in(axis, shape))


# Any: as in `Batch.again`
def reduced(b: Batch, x: Value, *, axis: Axis = None, keepdims: bool = False, **attributes: Any) -> Value:
    """The rule of reductions."""
    shape = b.shape(0)
    axes = behind(axis, shape)
    if len(axes) < len(shape):
        at = axes[0] if len(axes) == 1 else axes
        return b.again(x, axis=at, keepdims=keepdims, **attributes)
    line = shaped(x, (b.rows, math.prod(shape)))  # a scalar is a line of one element
    total = b.again(line, axis=1, keepdims=False, **attributes)
    return shaped(total, (b.rows, *reduced_shape(shape, axis, keepdims)))


def reshaped(b: Batch, x: Value, **attributes: Any) -> Value:  # Any: as in `Batch.again`
    """The rule of operations that give the elements of each row another shape."""
    return shaped(x, (b.rows, *(b.result.shape or ())))
