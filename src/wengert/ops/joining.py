"""Operations that join arrays, and the one that takes an array apart.

Knows: that each is the other's derivative.
Refuses to know: whether a view or a copy is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from math import isqrt
from typing import Any, Final, overload

from wengert.arrays import HOST, INTEGER, MASK, Dv, Float32, Float64, T, Value, is_integer, is_number
from wengert.elsewhere import along_one_axis
from wengert.errors import ArgumentError, ShapeError, WengertError
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.expressions import ArrayExpression, ArrayLayer, DoubleExpression, FloatExpression
from wengert.graph.kinds import Column, Kind, Shape, kind
from wengert.graph.node import Expression
from wengert.graph.operation import Case, Operation, Rules
from wengert.graph.ragged import EXAMPLES, SHARED, Ragged
from wengert.lazy import LazyDelta, Rows
from wengert.ops.arithmetic import multiply
from wengert.ops.batching import all_stacked, along, by_lines
from wengert.ops.families import composed
from wengert.ops.indexing import getitem
from wengert.ops.kinds import (
    array_of,
    arrays_of,
    axis_in,
    common_device,
    integers,
    ruled,
    shape_of_operand,
)
from wengert.site import user_position
from wengert_shapes import arrangement, rules

_MOST: Final = 128  # operands of one node


def _alike(kinds: Sequence[Kind]) -> tuple[Column, list[Shape], Any, Any]:  # Any: dtype and device
    """The column that all operands have, the shapes that are known, dtype and device: masks, integers or arrays."""
    for column, dtype in ((Column.INDEX, INTEGER), (Column.MASK, MASK)):
        if kinds and all(k.column is column for k in kinds):
            return column, [k.shape for k in kinds if k.shape is not None], dtype, common_device(kinds)
    return (Column.ARRAY, *arrays_of(kinds))


def _infer_concat(kinds: Sequence[Kind], *, axis: int) -> Kind:
    column, shapes, dtype, device = _alike(kinds)
    if len(shapes) < len(kinds):
        return kind(column, None, dtype, device)
    axis_in(axis, len(shapes[0]), shapes[0])
    return kind(column, ruled(lambda *xs: rules.joined(xs, axis), shapes), dtype, device)


def _concat_delta(index: int, c: Value, g: Value, y: Value, *xs: Value, axis: int) -> Value:
    at = axis % len(c.shape(0))
    ends = _ends(c, at)
    return g[(*(slice(None),) * at, slice(ends[index], ends[index + 1]))]


@lru_cache(maxsize=64)  # or each of many operands would add up the sizes of all before it
def _ends(c: Case, at: int) -> list[int]:
    return list(accumulate((c.shape(i)[at] for i in range(len(c.kinds))), initial=0))


def _batched(b: Batch, *xs: Value, axis: int) -> Value:
    return b.again(*all_stacked(b, xs), axis=axis if axis < 0 else axis + 1)


def _ragged(c: Ragged, *xs: Value, axis: int) -> Value:
    rows = c.axis()
    if rows is None or axis % len(c.shape(0)) == 0 or SHARED in c.along or EXAMPLES in c.along:
        return NotImplemented
    return c.again(*xs, axis=axis), rows


CONCAT: Final = Operation(
    "concat",
    Rules(
        _infer_concat,
        lambda c, *xs, axis: c.xp.concat(xs, axis=axis),
        _concat_delta,
        batch=_batched,
        ragged=_ragged,
        pure=True,
    ),
)


def _several(xs: Iterable[Any], who: str) -> tuple[Any, ...]:  # Any: arrays, which the operation checks
    try:
        return tuple(xs)
    except WengertError:  # an expression says what to write by itself
        raise
    except TypeError:
        raise ArgumentError(
            f"{who}: expected a list of arrays, got {xs!r:.60}\n  at {user_position()}"
        ) from None


def _joined(operation: Operation, xs: tuple[Any, ...], axis: int) -> Any:  # Any: as above; a layer
    """One node, or for many arrays one of several: each operand's derivative is given all operands of its node."""
    attributes = (("axis", axis),)
    if len(xs) <= _MOST:
        return apply(operation, xs, attributes)
    size = isqrt(len(xs))
    try:
        parts = [apply(operation, xs[i : i + size], attributes) for i in range(0, len(xs), size)]
        return apply(CONCAT, tuple(parts), attributes)
    except WengertError:
        return apply(operation, xs, attributes)  # which says what is wrong with one of them


@along_one_axis
def concat(xs: Sequence[ArrayExpression[Any, T, Dv]], /, *, axis: int = 0) -> ArrayLayer[Any, T, Dv]:
    """Arrays joined along an existing axis.

    Derivative: each operand gets its part of g.
    Shapes: equal but for `axis`, whose sizes add. Raises ShapeError, DTypeError, DeviceError.
    >>> import numpy as np
    >>> concat([np.ones((2, 3)), np.ones((4, 3))]).shape
    (6, 3)

    Source: Python array API standard, `concat`.
    """
    layer: ArrayLayer[Any, T, Dv] = _joined(CONCAT, _several(xs, "concat"), axis)
    return layer


def _infer_stack(kinds: Sequence[Kind], *, axis: int) -> Kind:
    column, shapes, dtype, device = _alike(kinds)
    if len(shapes) < len(kinds):
        return kind(column, None, dtype, device)
    axis_in(axis, len(shapes[0]) + 1, shapes[0])
    return kind(column, ruled(lambda *xs: rules.stacked(xs, axis), shapes), dtype, device)


def _stack_delta(index: int, c: Value, g: Value, y: Value, *xs: Value, axis: int) -> Value:
    at = axis % (len(c.shape(0)) + 1)
    return g[(*(slice(None),) * at, index)]


STACK: Final = Operation(
    "stack",
    Rules(
        _infer_stack, lambda c, *xs, axis: c.xp.stack(xs, axis=axis), _stack_delta, batch=_batched, pure=True
    ),
)


@overload
def stack(xs: Sequence[ArrayExpression[Any, T, Dv]], /, *, axis: int = 0) -> ArrayLayer[Any, T, Dv]: ...
@overload
def stack(xs: Sequence[DoubleExpression], /, *, axis: int = 0) -> ArrayLayer[tuple[int], Float64]: ...
@overload
def stack(xs: Sequence[FloatExpression], /, *, axis: int = 0) -> ArrayLayer[tuple[int], Float32]: ...
@along_one_axis
def stack(xs: Any, /, *, axis: int = 0) -> Any:  # Any: typed by the overloads
    """Arrays of one shape joined along a new axis; numbers as a vector.

    Derivative: each operand gets its slice of g.
    Shapes: a new axis as long as the list. Raises ShapeError, DTypeError, DeviceError.
    >>> import numpy as np
    >>> stack([np.ones(3), np.ones(3)], axis=1).shape
    (3, 2)
    >>> from wengert import lift
    >>> stack([lift(2.0), lift(3.0)]).predict().run().tolist()
    [2.0, 3.0]

    Source: Python array API standard, `stack`.
    """
    given = _several(xs, "stack")
    dtypes = [x.kind.dtype for x in given if isinstance(x, Expression) and x.kind.column in _NUMBERS]
    if dtypes:
        one = HOST.ones((), dtypes[0])
        given = tuple(multiply(x, one) if _is_number(x) else x for x in given)
    return _joined(STACK, given, axis)


_NUMBERS: Final = (Column.DOUBLE, Column.FLOAT)


def _is_number(x: object) -> bool:
    return is_number(x) or (isinstance(x, Expression) and x.kind.column in _NUMBERS)


Sections = int | tuple[int, ...]  # how many equal parts, or the indices at which to cut


def _cut(shape: Shape, axis: int, sections: Sections, part: int) -> tuple[slice, ...]:
    """The key of one part."""
    at = axis % len(shape)
    if isinstance(sections, int):
        size = shape[at] // sections
        place = slice(part * size, (part + 1) * size)
    else:
        edges = (0, *sections, shape[at])
        place = slice(edges[part], edges[part + 1])
    return (*(slice(None),) * at, place)


def _infer_split(kinds: Sequence[Kind], *, axis: int, sections: Sections, part: int) -> Kind:
    shape, dtype, device = array_of(kinds)
    if isinstance(sections, int) and sections < 1:
        raise ShapeError(f"cannot split into {sections} parts")
    if shape is None:
        return kind(Column.ARRAY, None, dtype, device)
    at = axis_in(axis, len(shape), shape)
    if isinstance(sections, int):
        made = ruled(lambda x, n: arrangement.split_equally(x, n[0], axis), [shape, (sections,)])
        return kind(Column.ARRAY, made, dtype, device)
    place = _cut(shape, axis, sections, part)[-1]
    size = len(range(*place.indices(shape[at])))
    return kind(Column.ARRAY, (*shape[:at], size, *shape[at + 1 :]), dtype, device)


def _part_delta(c: Value, g: Value, y: Value, x: Value, *, axis: int, sections: Sections, part: int) -> Value:
    return c.xp.add_at(c.shape(0), c.result.dtype, _cut(c.shape(0), axis, sections, part), g)


def _part_rows(c: Value, g: Value, y: Value, x: Value, *, axis: int, sections: Sections, part: int) -> Value:
    return LazyDelta([Rows(_cut(c.shape(0), axis, sections, part), g, c.shape(0))])


SPLIT: Final = Operation(  # one part; `split` gives all
    "split",
    Rules(
        _infer_split,
        lambda c, x, *, axis, sections, part: x[_cut(c.shape(0), axis, sections, part)],
        (_part_delta,),
        at_weight={0: _part_rows},
        batch=along,
        ragged=by_lines,
        pure=True,
    ),
)


def split(
    x: ArrayExpression[Any, T, Dv], sections: int | Sequence[int], /, *, axis: int = 0
) -> tuple[ArrayLayer[Any, T, Dv], ...]:
    """An array taken apart along an axis: into n equal parts, or before each index of a tuple.

    Derivative: each part's g goes to its place.
    Shapes: that of x but for `axis`; `split(x, (2, 5))` gives x[:2], x[2:5] and x[5:]. Raises ShapeError where
    n does not divide the axis.
    >>> import numpy as np
    >>> [part.shape for part in split(np.ones((6, 2)), 3)]
    [(2, 2), (2, 2), (2, 2)]
    >>> [part.shape for part in split(np.ones((6, 2)), (1, 4))]
    [(1, 2), (3, 2), (2, 2)]

    Source: numpy, `split`; the inverse of the array API standard's `concat`.
    """
    cuts: Sections = int(sections) if is_integer(sections) else integers(sections, "split")
    count = cuts if isinstance(cuts, int) else len(cuts) + 1
    given = (("axis", axis), ("sections", cuts))
    first: ArrayLayer[Any, T, Dv] = apply(SPLIT, (x,), (*given, ("part", 0)))
    whole = first.operands  # a literal is copied, and a value of a user's type computed, once for all parts
    return (first, *(apply(SPLIT, whole, (*given, ("part", part))) for part in range(1, count)))


@composed
def unstack(x: ArrayExpression[Any, T, Dv], /, *, axis: int = 0) -> tuple[ArrayLayer[Any, T, Dv], ...]:
    """The slices of an array along an axis, which is gone in each of them.

    Derivative: each g at its place along the axis.
    Shapes: the axis goes. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> [part.predict().run().tolist() for part in unstack(np.array([[1.0, 2.0], [3.0, 4.0]]))]
    [[1.0, 2.0], [3.0, 4.0]]

    Source: Python array API standard, `unstack`.
    """
    shape = shape_of_operand(x)
    ruled(rules.reduced, [shape], (axis,), False)
    before: tuple[Any, ...] = (slice(None),) * (axis % len(shape))  # Any: parts of a key
    return tuple(getitem(x, (*before, i)) for i in range(shape[axis]))
