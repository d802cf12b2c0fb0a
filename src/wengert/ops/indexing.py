"""Indexing: `x[key]`, `take` and `take_along_axis`, whose delta is sparse at a weight; `segment_sum`, its transpose.

Knows: the shape of an indexed array, and that a delta is added at the index, repeated indices adding up.
Refuses to know: how rows are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from wengert.arrays import Dv, T, Value, indexed_shape, zeros_of
from wengert.errors import DTypeError, ShapeError
from wengert.graph.apply import apply, indexing
from wengert.graph.batch import Batch
from wengert.graph.detached import IndexExpression
from wengert.graph.expressions import ArrayExpression, ArrayLayer, Index
from wengert.graph.index import Part, index_of, indices, key_of
from wengert.graph.kinds import Column, Kind, Role, kind
from wengert.graph.operation import Operation, Rules
from wengert.graph.operators import GETITEM
from wengert.graph.ragged import EXAMPLES, SHARED, Ragged, RowAxis
from wengert.lazy import LazyDelta, Rows
from wengert.ops.batching import all_stacked, batched_getitem, batched_take, gathered, moved, shaped, summed
from wengert.ops.kinds import array_of, axis_in, ruled, segments, segments_of_rows
from wengert_shapes import arrangement


def _infer_getitem(kinds: Sequence[Kind], *, key: tuple[Part, ...]) -> Kind:
    chosen = kinds[0].column is Column.INDEX and kinds[0].role is not Role.LITERAL and len(kinds) == 1
    column = Column.INDEX if chosen else Column.ARRAY
    shape, dtype, device = (
        (kinds[0].shape, kinds[0].dtype, kinds[0].device) if chosen else array_of(kinds[:1])
    )
    for k in kinds[1:]:
        if k.column is not Column.INDEX:
            raise DTypeError(f"an index array has integers, not {k.dtype}")
    if shape is None:
        return kind(column, None, dtype, device)
    try:
        result = indexed_shape(shape, key_of(key, tuple(zeros_of(k.shape or ()) for k in kinds[1:])))
    except IndexError as error:
        raise ShapeError(f"cannot index shape {shape}: {str(error).strip()}") from None
    return kind(column, result, dtype, device)


def _value(c: Value, x: Value, *arrays: Value, key: tuple[Part, ...]) -> Value:
    return x[key_of(key, arrays)]


def _delta(c: Value, g: Value, y: Value, x: Value, *arrays: Value, key: tuple[Part, ...]) -> Value:
    return c.xp.add_at(c.shape(0), c.result.dtype, key_of(key, arrays), g)


def _rows(c: Value, g: Value, y: Value, x: Value, *arrays: Value, key: tuple[Part, ...]) -> Value:
    return LazyDelta([Rows(key_of(key, arrays), g, c.shape(0))])


def _ragged_getitem(c: Ragged, x: Value, *arrays: Value, key: tuple[Part, ...]) -> Value:
    """The rule for examples of unlike sizes: one row, or a slice, of each; other parts of the key see lines."""
    of = c.axis()
    if of is None or arrays or not key or key[0][0] not in ("int", "slice"):
        return NotImplemented
    whole = ("slice", None, None, None)
    if key[0] == whole:
        return c.again(x, key=key), of
    if key[0][0] == "int":
        rows, along = gathered(c, x, c.places(key[0][1], of), of), c.examples
    else:
        numbers, along = c.part(slice(*key[0][1:]), of)
        rows = gathered(c, x, numbers, of)
    if len(key) > 1:
        rows = c.again(rows, key=(whole, *key[1:]))
    return rows, EXAMPLES if key[0][0] == "int" else along


GETITEM.define(
    Rules(
        _infer_getitem,
        _value,
        (_delta,),
        at_weight={0: _rows},
        batch=batched_getitem,
        ragged=_ragged_getitem,
        pure=True,
    )
)


def getitem(x: ArrayExpression[Any, T, Dv], key: Index, /) -> ArrayLayer[Any, T, Dv]:
    """x[key]: integers, slices, `...`, None, integer arrays and masks, as numpy has them.

    A mask is an array of bool, data and not computed: it stands for the places where it is true.
    Derivative: g added at the key, equal indices adding up; at a weight it stays (key, g).
    Shapes: an integer drops its axis, a slice keeps it, None adds one, arrays put their joint shape, a mask puts one
    axis for those that it covers. Raises ShapeError for an index out of range and a mask of another shape; DTypeError
    for an index array that is not of integers, and for a computed mask.
    >>> import numpy as np
    >>> getitem(np.arange(6.0).reshape(2, 3), (1, slice(0, 2))).predict().run().tolist()
    [3.0, 4.0]

    Source: Python array API standard, indexing; numpy's advanced indexing for arrays.
    """
    operands, static = index_of(x, key)
    layer: ArrayLayer[Any, T, Dv] = apply(GETITEM, operands, (("key", static),))
    return layer


def _infer_take(kinds: Sequence[Kind], *, axis: int) -> Kind:
    shape, dtype, device = array_of(kinds[:1])
    if kinds[1].column is not Column.INDEX:
        raise DTypeError(f"indices are integers, not {kinds[1].text()}")
    if shape is None or kinds[1].shape is None:
        return kind(Column.ARRAY, None, dtype, device)
    at = axis_in(axis, len(shape), shape)
    return kind(Column.ARRAY, shape[:at] + kinds[1].shape + shape[at + 1 :], dtype, device)


def _take_key(c: Value, indices: Value, axis: int) -> Value:
    return (*(slice(None),) * (axis % len(c.shape(0))), indices)


def _take_rows(c: Value, g: Value, y: Value, x: Value, indices: Value, *, axis: int) -> Value:
    key = indices if axis % len(c.shape(0)) == 0 else _take_key(c, indices, axis)
    return LazyDelta([Rows(key, g, c.shape(0))])


def _ragged_take(c: Ragged, x: Value, indices: Value, *, axis: int) -> Value:
    """The rule of `take` for examples of unlike sizes: rows of an example, or of a table that all share."""
    into, along = c.along
    if axis % len(c.shape(0)):
        return NotImplemented if along is not SHARED else (c.again(x, indices, axis=axis), into)
    if along is SHARED:
        return NotImplemented
    if len(c.shape(1)) > 1:
        return NotImplemented
    if isinstance(into, RowAxis):
        return gathered(c, x, c.moved(indices, along, into), into), along
    return (c.again(x, indices, axis=0), along) if into is SHARED else NotImplemented


TAKE: Final = Operation(
    "take",
    Rules(
        _infer_take,
        lambda c, x, indices, *, axis: c.xp.take(x, indices, axis=axis),
        (
            lambda c, g, y, x, indices, *, axis: c.xp.add_at(
                c.shape(0), c.result.dtype, _take_key(c, indices, axis), g
            ),
            None,
        ),
        at_weight={0: _take_rows},
        batch=batched_take,
        ragged=_ragged_take,
        pure=True,
    ),
)


def take(
    x: ArrayExpression[Any, T, Dv], indices: IndexExpression, /, *, axis: int = 0
) -> ArrayLayer[Any, T, Dv]:
    """The slices of x at `indices` along an axis: rows of an embedding table.

    Derivative: g added at the indices, equal ones adding up; at a weight it stays (indices, g).
    Shapes: `axis` is replaced by the shape of `indices`. Raises ShapeError for an axis out of range, DTypeError
    for indices that are no integers, IndexError in the run for an index out of range.
    >>> import numpy as np
    >>> take(np.arange(6.0).reshape(3, 2), np.array([2, 0])).predict().run().tolist()
    [[4.0, 5.0], [0.0, 1.0]]

    Source: Python array API standard, `take`.
    """
    layer: ArrayLayer[Any, T, Dv] = indexing(TAKE, x, indices, axis)
    return layer


def _infer_along(kinds: Sequence[Kind], *, axis: int) -> Kind:
    shape, dtype, device = array_of(kinds[:1])
    if kinds[1].column is not Column.INDEX:
        raise DTypeError(f"indices are integers, not {kinds[1].text()}")
    if shape is None or kinds[1].shape is None:
        return kind(Column.ARRAY, None, dtype, device)
    axis_in(axis, len(shape), shape)
    made = ruled(lambda x, at: arrangement.along(x, at, axis), [shape, kinds[1].shape])
    return kind(Column.ARRAY, made, dtype, device)


def _key_along(c: Value, indices: Value, axis: int) -> Value:
    key = list(c.xp.mesh(c.shape(0)))
    key[axis] = indices
    return tuple(key)


def _along_delta(c: Value, g: Value, y: Value, x: Value, indices: Value, *, axis: int) -> Value:
    return c.xp.add_at(c.shape(0), c.result.dtype, _key_along(c, indices, axis), g)


def _along_rows(c: Value, g: Value, y: Value, x: Value, indices: Value, *, axis: int) -> Value:
    return LazyDelta([Rows(_key_along(c, indices, axis), g, c.shape(0))])


def _batched_along(b: Batch, x: Value, indices: Value, *, axis: int) -> Value:
    both = [
        v if s else shaped(v, (1, *b.shape(i)))
        for i, (v, s) in enumerate(zip((x, indices), b.stacked, strict=True))
    ]
    return b.again(*both, axis=axis if axis < 0 else axis + 1)


TAKE_ALONG_AXIS: Final = Operation(
    "take_along_axis",
    Rules(
        _infer_along,
        lambda c, x, indices, *, axis: c.xp.take_along_axis(x, indices, axis=axis),
        (_along_delta, None),
        at_weight={0: _along_rows},
        batch=_batched_along,
        pure=True,
    ),
)


def take_along_axis(
    x: ArrayExpression[Any, T, Dv], indices: IndexExpression, /, *, axis: int = -1
) -> ArrayLayer[Any, T, Dv]:
    """The elements of each line of x along an axis that the same line of `indices` names.

    Derivative: g added at the indices, equal ones of a line adding up; at a weight it stays (indices, g).
    Shapes: `axis` gets the size that it has in `indices`, the other axes broadcast; the ranks are equal. Raises
    ShapeError, DTypeError for indices that are no integers, IndexError in the run for an index out of range.
    >>> import numpy as np
    >>> x = np.array([[1.0, 3.0, 2.0], [6.0, 4.0, 5.0]])
    >>> take_along_axis(x, np.argmax(x, axis=1)[:, None]).predict().run().tolist()
    [[3.0], [6.0]]

    Source: Python array API standard, `take_along_axis`.
    """
    layer: ArrayLayer[Any, T, Dv] = indexing(TAKE_ALONG_AXIS, x, indices, axis)
    return layer


def _row_segments(c: Value, ids: Value) -> Value:
    return (*c.xp.mesh((c.shape(0)[0], 1))[:1], ids)


# Each row into segments of its own, where examples of a batch have different ids.
SEGMENT_SUM_ROWS: Final = Operation(
    "segment_sum_rows",
    Rules(
        segments_of_rows,
        lambda c, x, ids, *, num_segments: c.xp.add_at(
            (c.shape(0)[0], num_segments, *c.shape(0)[2:]), x.dtype, _row_segments(c, ids), x
        ),
        (lambda c, g, y, x, ids, *, num_segments: c.xp.getitem(g, _row_segments(c, ids)), None),
        pure=True,
    ),
    listed=False,
)


def _batched_segments(b: Batch, x: Value, ids: Value, *, num_segments: int) -> Value:
    if not b.stacked[1]:
        return moved(b.again(moved(x, 1, 0, 1), ids, num_segments=num_segments), 1, 1, 0)
    return apply(SEGMENT_SUM_ROWS, tuple(all_stacked(b, (x, ids))), (("num_segments", num_segments),))


def _ragged_segments(c: Ragged, x: Value, ids: Value, *, num_segments: int) -> Value:
    """The rule of `segment_sum` for examples of unlike sizes: each has segments of its own."""
    into = c.sized("num_segments")
    if not isinstance(c.along[0], RowAxis) or c.along[0] != c.along[1]:
        return NotImplemented
    return summed(c, x, c.moved(ids, c.along[1], into), into), into


SEGMENT_SUM: Final = Operation(
    "segment_sum",
    Rules(
        segments,
        lambda c, x, ids, *, num_segments: c.xp.add_at((num_segments, *c.shape(0)[1:]), x.dtype, ids, x),
        (lambda c, g, y, x, ids, *, num_segments: c.xp.take(g, ids, axis=0), None),
        batch=_batched_segments,
        ragged=_ragged_segments,
        sizes=("num_segments",),
        pure=True,
    ),
)


def segment_sum(
    x: ArrayExpression[Any, T, Dv], segment_ids: IndexExpression, /, *, num_segments: int
) -> ArrayLayer[Any, T, Dv]:
    """The sums of the slices of x that have one segment id: the messages that reach each node of a graph.

    yⱼ = Σᵢ xᵢ over all i with segment id j; 0 where there is none.
    Derivative: the delta of xᵢ is that of its segment.
    Shapes: x (n, ...), ids (n,), result (num_segments, ...). Raises ShapeError for other shapes, DTypeError for ids
    that are no integers, ArgumentError for a negative number of segments, IndexError in the run for an id out of
    range; negative ids count from the end, as those of `take`.
    >>> import numpy as np
    >>> segment_sum(np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), num_segments=3).predict().run().tolist()
    [2.0, 0.0, 5.0]

    Source: JAX, `jax.ops.segment_sum`.
    """
    operands = (x, indices(segment_ids))
    layer: ArrayLayer[Any, T, Dv] = apply(SEGMENT_SUM, operands, (("num_segments", num_segments),))
    return layer
