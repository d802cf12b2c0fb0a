"""The delta of indexing: values added at an index, equal indices adding up.

Knows: numpy's kinds of keys, which of them may meet one element twice, and what is fast for those.
Refuses to know: what the index was for.
"""

from __future__ import annotations

import math
from functools import lru_cache
from operator import setitem
from typing import Final

import numpy as np

from wengert.arrays.changes import Change, carry_out
from wengert.arrays.namespace import Shape, Value
from wengert.arrays.places import (
    argsort,
    ascending,
    counted,
    cumulated,
    lengths,
    ranges,
    span,
    spread,
    starts_of_runs,
)

_FEW = 4  # times as many lines as are named
_MANY = 4  # rows that are worth a call
__all__ = ["add_at", "labels", "one_hot", "pick", "subtract_at", "touched", "within"]


def add_at(shape: Shape, dtype: Value, key: Value, g: Value, /) -> Value:
    """Zeros of `shape` and `dtype` with `g`, which has the shape of `x[key]`, added at `key`.

    >>> add_at((3,), np.float32, np.array([2, 0, 2]), np.array([1, 2, 3], np.float32))
    array([2., 0., 4.], dtype=float32)
    """
    out = np.zeros(shape, dtype)
    key = _as_array(key)
    if _meets_once(key):
        out[key] = g
    else:
        _at(np.add, out, key, g)
    return out


def subtract_at(w: Value, key: Value, g: Value, /) -> list[Change]:
    """The changes that make `w[key] -= g` in place, equal indices adding up.

    >>> w = np.ones(3)
    >>> carry_out(subtract_at(w, [2, 0, 2], np.array([1.0, 2.0, 3.0])))
    >>> w.tolist()
    [-1.0, 1.0, -3.0]
    """
    key = _as_array(key)
    return _once(w, key, g) if _meets_once(key) else _each(np.subtract, w, key, g)


def touched(key: Value, g: Value, shape: Shape, /) -> tuple[Value, Value] | None:
    """The lines of an array of `shape` that `key` names, each once, ascending, and the sum of what `g` adds to each.

    None where `key` is no array of integers, or the lines are so many that all of the array is as fast: a question
    of types and sizes, so that it is answered of tracers, too, which have no sums. The sums have the bits of `add_at`.
    >>> lines, sums = touched(np.array([2, 0, -1]), np.array([1.0, 2.0, 3.0]), (3,)) or ((), ())
    >>> lines, sums
    ((), ())
    >>> lines, sums = touched(np.array([20, 0, -1]), np.array([1.0, 2.0, 3.0]), (21,)) or ((), ())
    >>> lines.tolist(), sums.tolist()
    ([0, 20], [2.0, 4.0])
    """
    key = np.array([key]) if _is_basic(key) and not isinstance(key, slice) else _as_array(key)
    dtype = getattr(key, "dtype", None)
    if dtype is None or dtype.kind not in "iu" or _FEW * math.prod(key.shape) > shape[0]:
        return None
    if not isinstance(key, np.ndarray):
        raise TypeError("only a run tells which lines are touched")
    inner = shape[1:]
    lines, sums = _summed(key.reshape(-1).astype(np.intp) % shape[0], g.reshape(key.size, math.prod(inner)))
    return lines, sums.reshape(len(lines), *inner)


def _summed(key: Value, g: Value) -> tuple[Value, Value]:
    """Each line once, and the sum of its rows of `g`, one after the other.

    The first rows of all lines together, then the second ones, as long as there are many: those that are named
    most often come first, so a sum that goes on lies beside others. Words of 64 sentences, 1,213 rows of 128, take
    140 us; with `ufunc.at`, as below, 330; by `add.reduceat`, which has other bits, 650.
    """
    order = argsort(key)
    ordered = key[order]
    starts = starts_of_runs(ordered)
    counts = lengths(starts, len(key))
    lines, often = ordered[starts], argsort(-counts)
    starts, counts = starts[often], counts[often]
    sums = g.take(order[starts], 0)
    sums += 0.0  # as the sum of 0 and -0
    going = (len(counts) - cumulated(counted(counts, 0))).tolist()  # how many are named so often, or more
    turn = 1
    while turn + 1 < len(going) and going[turn + 1] >= _MANY:
        sums[: going[turn + 1]] += g.take(order[starts[: going[turn + 1]] + turn], 0)
        turn += 1
    if turn + 1 < len(going):
        rest = counts[: going[turn + 1]] - turn
        at = spread(span(0, len(rest)), rest)
        _at(np.add, sums, at, g.take(order[ranges(starts[: len(rest)] + turn, rest)], 0))
    return lines, sums.take(argsort(often), 0)


def segment_max(x: Value, ids: Value, count: int, /) -> Value:
    """The greatest elements of the slices of each of `count` segments, -infinity where there is none.

    >>> segment_max(np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), 3).tolist()
    [2.0, 4.0, -inf]
    """
    if ids.ndim == 2:  # each row into segments of its own
        rows, length = ids.shape
        if ids.size and not (-count <= ids.min() and ids.max() < count):
            raise IndexError(f"segment ids are {-count} to {count - 1}; got {ids.min()} to {ids.max()}")
        apart = ids % count + np.arange(rows)[:, np.newaxis] * count
        lines = x.reshape(rows * length, *x.shape[2:])
        return segment_max(lines, apart.reshape(-1), rows * count).reshape(rows, count, *x.shape[2:])
    out = np.full((count, *x.shape[1:]), -np.inf, x.dtype)
    width = math.prod(x.shape[1:])
    places = ids.astype(np.intp)[:, np.newaxis] * width + np.arange(width)  # single elements have a fast loop
    np.maximum.at(out.reshape(-1), places.reshape(-1), x.reshape(-1))
    return out


def one_hot(labels: Value, classes: int, dtype: Value, /) -> Value:
    """1 at each label along a new last axis of size `classes`, 0 elsewhere.

    >>> one_hot(np.array([2, 0]), 3, np.float32).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    out = np.zeros((*labels.shape, classes), dtype)
    out.reshape(-1)[places(labels, classes)] = 1
    return out


def labels(labels: Value, classes: int, /) -> Value:
    """The labels as they are; IndexError where one of them is none of the classes.

    >>> labels(np.array([2, 0]), 3).tolist()
    [2, 0]
    """
    if not within(labels, classes):
        raise IndexError(f"labels are 0 to {classes - 1}; got {labels.min()} to {labels.max()}")
    return labels


def pick(x: Value, labels: Value, /) -> Value:
    """The element of each line along the last axis that `labels` names.

    >>> pick(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0])).tolist()
    [2.0, 3.0]
    """
    return x.reshape(-1)[places(labels, x.shape[-1])].reshape(labels.shape)


def within(indices: Value, count: int) -> bool:
    """Tell whether all integers are at least 0 and less than `count`: one pass, negative ones read as huge.

    >>> within(np.array([0, 2]), 3), within(np.array([-1, 2]), 3)
    (True, False)
    """
    return not indices.size or _greatest(indices) < count


def _greatest(indices: Value) -> int:
    dtype = indices.dtype
    as_read = indices.view(_UNSIGNED.get(dtype, dtype))
    greatest: int = as_read.item(as_read.argmax())  # half the time of `max`, which goes through Python
    return greatest


def few_labels(x: Value) -> tuple[Value, int] | None:
    """The integers of a short array as `_kept` has them; None of whatever else.

    >>> few_labels(np.array([2, 0]))
    (array([2, 0]), 2)
    """
    if type(x) is not np.ndarray or x.ndim != 1 or not 0 < x.nbytes <= _SHORT or x.dtype.kind != "i":
        return None
    return _kept(x.tobytes(), x.dtype) if x.dtype.isnative else None


@lru_cache(maxsize=1)
def _kept(content: bytes, dtype: Value) -> tuple[Value, int]:
    """The integers in these bytes, which nobody can write to, and the greatest, negative ones read as huge.

    The losses of many heads that are given the same labels have one copy of them.
    """
    found = np.ndarray((len(content) // dtype.itemsize,), dtype, content)
    return found, _greatest(found)


_SHORT: Final = 1024  # bytes
_UNSIGNED = {np.dtype(f"i{n}"): np.dtype(f"u{n}") for n in (1, 2, 4, 8)}


def places(labels: Value, classes: int) -> Value:
    """Flat index of the label of each line, row by row."""
    flat = labels.reshape(-1)
    if not within(flat, classes):
        raise IndexError(f"labels are 0 to {classes - 1}; got {flat.min()} to {flat.max()}")
    if flat.dtype == np.uint64:  # which has only float64 in common with the type of an index
        flat = flat.astype(np.intp)
    return starts(flat.size, classes) + flat


@lru_cache(maxsize=256)
def starts(lines: int, classes: int) -> Value:
    """Flat index of the first element of each line of a matrix with so many columns."""
    found = np.arange(0, lines * classes, classes) if classes else np.zeros(lines, np.intp)
    found.flags.writeable = False
    return found


def _as_array(key: Value) -> Value:
    if type(key) is list:
        return np.asarray(key) if key else np.zeros(0, np.intp)
    return key


def _meets_once(key: Value) -> bool:
    """True where the kinds in `key` alone say that it meets no element twice."""
    if type(key) is tuple:
        return all(part is None or part is Ellipsis or _is_basic(part) for part in key)
    if isinstance(key, np.ndarray):
        return key.dtype.kind == "b" or key.ndim == 0
    return key is None or key is Ellipsis or isinstance(key, bool | np.bool) or _is_basic(key)


def _is_basic(part: Value) -> bool:
    return isinstance(part, int | slice | np.integer) and not isinstance(part, bool)


def _once(w: Value, key: Value, g: Value) -> list[Change]:
    """Changes by a key that meets no element twice."""
    if isinstance(key, np.ndarray | bool | np.bool) and np.asarray(key).dtype.kind == "b":
        if not w.flags.c_contiguous:
            return [(np.subtract.at, w, key, g)]
        lines = w.reshape(np.size(key), *w.shape[np.ndim(key) :])
        return _lines(np.subtract, lines, np.flatnonzero(key), g)
    parts = key if type(key) is tuple else (int(key) if isinstance(key, np.ndarray) else key,)
    # a view, where all are integers too
    part = w[parts if any(x is Ellipsis for x in parts) else (*parts, ...)]
    return [(np.subtract, part, g, part)]


def _lines(function: np.ufunc, w: Value, lines: Value, g: Value) -> list[Change]:
    """Read, change and write back each of these lines, which differ."""
    read = np.empty((len(lines), *w.shape[1:]), w.dtype)
    return [(w.take, lines, 0, read, "clip"), (function, read, g, read), (setitem, w, lines, read)]


def _at(function: np.ufunc, w: Value, key: Value, g: Value) -> None:
    carry_out(_each(function, w, key, g))


def _each(function: np.ufunc, w: Value, key: Value, g: Value) -> list[Change]:
    """The changes that make `w[key] = function(w[key], g)` in place, one after the other for equal indices.

    512 rows of 64 take `ufunc.at` 210 us as they are, and 53 us as single elements, for which it has a fast
    loop; sorting the rows and adding up runs takes 140.
    """
    if not w.flags.writeable:  # numpy does not ask: `ufunc.at` writes to read-only memory (seen in 2.4)
        raise ValueError("assignment destination is read-only")
    rows = isinstance(key, np.ndarray) and key.dtype.kind in "iu" and w.ndim > 1 and w.flags.c_contiguous
    if not rows:
        return [(function.at, w, key, g)]
    key = key.astype(np.intp, copy=False)
    if key.ndim == 1 and len(key) and key[0] >= 0 and ascending(key):  # each line once
        if key[-1] >= len(w):
            raise IndexError(f"index {key[-1]} is out of bounds for axis 0 with size {len(w)}")
        return _lines(function, w, key, g)
    inner = w.shape[1:]
    width = math.prod(inner)
    places = (key * width)[..., np.newaxis] + np.arange(width)
    parts = g if g.shape == key.shape + inner else np.broadcast_to(g, key.shape + inner)
    return [(function.at, w.reshape(-1), places.reshape(-1), parts.reshape(-1))]
