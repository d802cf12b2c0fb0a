"""Batching rules of `x[key]` and `take`: where rows stand, and where the axes of index arrays go.

Knows: numpy's rule that index arrays put their joint axes where they stand, or first if something stands between
them; and that indices of each row into its own array are one index with the numbers of the rows in front.
Refuses to know: derivatives of the public operations, which apply to what is made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wengert.arrays import Value, indexed_shape, zeros_of
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.index import Part, key_of
from wengert.graph.kinds import Column, Kind, Shape, kind
from wengert.graph.operation import Operation, Rules
from wengert.ops.batching.shapes import moved, shaped

Key = tuple[Part, ...]
_ALL: Final[Part] = ("slice", None, None, None)


def _infer(kinds: Sequence[Kind], *, key: Key) -> Kind:
    x, *arrays = kinds
    shape, joint = x.shape or (), len(arrays[0].shape or ())
    rows = zeros_of((shape[0], *(1,) * (joint - 1)))
    picked = indexed_shape(shape, _behind(rows, key_of(key, tuple(zeros_of(k.shape or ()) for k in arrays))))
    return kind(Column.ARRAY, picked, x.dtype, x.device)


def _behind(rows: Value, key: Value) -> tuple[Value, ...]:
    return (rows, *key) if isinstance(key, tuple) else (rows, key)


def _row_key(c: Value, arrays: tuple[Value, ...], key: Key) -> tuple[Value, ...]:
    rows, joint = c.shape(0)[0], len(c.shape(1))
    (numbers,) = c.xp.mesh((rows,))
    return _behind(c.xp.reshape(numbers, (rows, *(1,) * (joint - 1))), key_of(key, arrays))


# x[i][key of arrays[i]] for each row i: the joint axes of the arrays come right after the rows
GETITEM_ROWS: Final = Operation(
    "getitem_rows",
    Rules(
        _infer,
        lambda c, x, *arrays, key: x[_row_key(c, arrays, key)],
        (
            lambda c, g, y, x, *arrays, key: c.xp.add_at(
                c.shape(0), c.result.dtype, _row_key(c, arrays, key), g
            ),
        ),
        pure=True,
    ),
    listed=False,
)


def _shape_with(shape: Shape, key: Key, arrays: Sequence[Shape]) -> Shape:
    """The shape of `x[key]`, where index arrays of other sizes stand in, and so may find elements in an empty axis."""
    return indexed_shape(tuple(max(n, 1) for n in shape), key_of(key, tuple(map(zeros_of, arrays))))


def batched_getitem(b: Batch, x: Value, *arrays: Value, key: Key) -> Value:
    """The rule of `x[key]`."""
    shapes = [b.shape(i + 1) for i in range(len(arrays))]
    own = b.stacked[1:]
    # Larger than any size, so that it is found in a shape.
    unique = 2 + max((*b.shape(0), *(n for shape in shapes for n in shape)), default=0)
    if not any(own):
        longer = (_ALL, *key)
        place = _shape_with((unique, *b.shape(0)), longer, shapes).index(unique)
        return moved(b.again(x, *arrays, key=longer), 1, place, 0)
    joint = max(map(len, shapes))
    wide = [(1,) * (joint - len(shape)) + shape for shape in shapes]
    arrays = tuple(shaped(a, (b.rows if s else 1, *w)) for a, s, w in zip(arrays, own, wide, strict=True))
    if not b.stacked[0]:
        probe = [(unique if s else 1, *w) for s, w in zip(own, wide, strict=True)]
        place = _shape_with(b.shape(0), key, probe).index(unique)
        return moved(b.again(x, *arrays, key=key), 1, place, 0)
    found = apply(GETITEM_ROWS, (x, *arrays), (("key", key),))
    if not joint:
        return found
    probe = [(unique, *(1,) * (joint - 1))] + [(1,) * joint] * (len(arrays) - 1)
    return moved(found, joint, 1, 1 + _shape_with(b.shape(0), key, probe).index(unique))


def batched_add_at(b: Batch, g: Value, *arrays: Value, shape: Shape, key: Key) -> Value:
    """The rule of adding at one key: the key of all rows leaves a place for them, as in `x[key]`."""
    if any(b.stacked[1:]):
        return NotImplemented
    longer = (_ALL, *key)
    shapes = [b.shape(i + 1) for i in range(len(arrays))]
    unique = 2 + max((*shape, *(n for own in shapes for n in own)), default=0)
    place = _shape_with((unique, *shape), longer, shapes).index(unique)
    return b.again(moved(g, 1, 0, place), *arrays, shape=(b.rows, *shape), key=longer)


def batched_take(b: Batch, x: Value, indices: Value, *, axis: int) -> Value:
    """The rule of `take`."""
    at = axis % len(b.shape(0))
    if not b.stacked[1]:
        return b.again(x, indices, axis=at + 1)
    if not b.stacked[0]:
        return moved(b.again(x, indices, axis=at), 1, at, 0)
    found = apply(GETITEM_ROWS, (x, indices), (("key", (*(_ALL,) * at, ("array",))),))
    return moved(found, len(b.shape(1)), 1, 1 + at)
