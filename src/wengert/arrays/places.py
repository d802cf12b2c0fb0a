"""Arithmetic on places: arrays of integers that say where rows lie, always on the host.

Knows: the functions of numpy that schedules are made with, and which places follow each other.
Refuses to know: what lies at a place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

__all__ = [
    "Flags",
    "Places",
    "argsort",
    "ascending",
    "concatenate",
    "counted",
    "cumulated",
    "distinct",
    "equal",
    "flags",
    "glance",
    "greatest_of_runs",
    "jumps",
    "least_and_greatest",
    "lengths",
    "marked",
    "occurring",
    "places",
    "ranges",
    "repeating",
    "runs_of",
    "span",
    "spread",
    "spread_evenly",
    "starts_of_runs",
    "sums",
    "table",
    "truths",
]

_MOST_TURNS: Final = 8  # after which sorting is faster

Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]  # Any: as below
Places: TypeAlias = np.ndarray[Any, np.dtype[np.intp]]  # Any: one axis, or two for a table of operands

_FEW: Final = 256
_GLANCE: Final = 16


def places(numbers: Iterable[int] | Sequence[Sequence[int]]) -> Places:
    """Integers as an array.

    >>> places([3, 1]).tolist()
    [3, 1]
    """
    return np.array(numbers if isinstance(numbers, list) else list(numbers), np.intp)


def span(start: int, stop: int) -> Places:
    """All integers from `start` up to `stop`."""
    return np.arange(start, stop)


def argsort(x: Places) -> Places:
    """The places of the elements in ascending order, equal ones as they come.

    numpy sorts 16 bits by radix, in 3 ns each, and merges longer ones in 50.
    >>> argsort(places([1 << 20, -3, 1 << 20])).tolist()
    [1, 0, 2]
    """
    if len(x) < _FEW:
        return x.argsort(kind="stable")
    x = x - x.min()
    order: Places = x.astype(np.uint16).argsort(kind="stable")
    for bits in range(16, int(x.max()).bit_length(), 16):
        order = order[(x[order] >> bits).astype(np.uint16).argsort(kind="stable")]
    return order


def ascending(x: Places) -> bool:
    """Tell whether each element is greater than the one before.

    >>> ascending(places([1, 3])), ascending(places([1, 1]))
    (True, False)
    """
    return bool((x[1:] > x[:-1]).all())


def concatenate(parts: Sequence[Places]) -> Places:
    """One array after the other."""
    return np.concatenate(parts) if parts else np.zeros(0, np.intp)


def counted(x: Places, size: int) -> Places:
    """Count of each integer below `size`."""
    return np.bincount(x, minlength=size)


def truths(x: Sequence[bool]) -> Flags:
    """Truth values as an array."""
    return np.array(x, np.bool_)


def cumulated(x: Places) -> Places:
    """The sum of what stands before each element, and of all.

    >>> cumulated(places([2, 3])).tolist()
    [0, 2, 5]
    """
    total = np.zeros(len(x) + 1, np.intp)
    x.cumsum(out=total[1:])
    return total


def distinct(x: Places) -> tuple[Places, Places]:
    """Each integer once, ascending, and how often it occurs.

    >>> [part.tolist() for part in distinct(places([4, 2, 4]))]
    [[2, 4], [1, 2]]
    """
    ordered = x.copy()  # `np.unique` takes three times as long for a few
    ordered.sort()
    starts = starts_of_runs(ordered)
    return ordered[starts], lengths(starts, len(x))


def occurring(x: Places, size: int) -> Places:
    """Each integer below `size` that occurs, ascending.

    >>> occurring(places([4, 2, 4]), 5).tolist()
    [2, 4]
    """
    if size > 16 * len(x) + 1024:  # then sorting is faster
        return distinct(x)[0]
    there = np.zeros(size, np.bool_)
    there[x] = True
    return np.flatnonzero(there)


def repeating(x: Places, of: Places, size: int) -> set[int]:
    """Owners that have an element more than once; `of` has the owner of each, and all of one stand together.

    >>> repeating(places([4, 2, 4, 2, 2]), places([0, 0, 1, 3, 3]), 5)
    {3}
    """
    found: set[int] = set()
    last = np.empty(size, np.intp)
    for _ in range(_MOST_TURNS):  # each leaves out the last one of every element
        if not len(x):
            return found
        numbers = np.arange(len(x))
        last[x] = numbers
        after = last.take(x)
        rest = np.flatnonzero(after != numbers)
        x, owner, after = x.take(rest), of.take(rest), of.take(after.take(rest))
        found.update(owner[owner == after].tolist())
        of = owner
    names, times = distinct(of * size + x)
    return found.union((names[times > 1] // size).tolist())


def starts_of_runs(ordered: Places) -> Places:
    """Start of each run of equal numbers.

    >>> starts_of_runs(places([2, 2, 4])).tolist()
    [0, 2]
    """
    new = np.empty(len(ordered), np.bool_)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return new.nonzero()[0]


def lengths(starts: Places, end: int) -> Places:
    """Lengths of runs, given the start of each and the end of the last one."""
    ends = np.empty(len(starts), np.intp)
    ends[:-1] = starts[1:]
    ends[-1:] = end
    return ends - starts


def greatest_of_runs(table: Places, starts: Places) -> Places:
    """The greatest numbers, column by column, of runs of rows, each from its start to that of the next."""
    return np.maximum.reduceat(table, starts, axis=0)


def spread(x: Places, times: Places) -> Places:
    """Each element as often as `times` says."""
    return x.repeat(times)


def spread_evenly(x: Places, times: int) -> Places:
    """Each element so many times."""
    return x.repeat(times)


def glance(x: Places) -> tuple[int, bytes]:
    """The length and a few of the elements, for a hash."""
    return len(x), x[:: len(x) // _GLANCE + 1].tobytes()


def equal(x: Places, y: Places) -> bool:
    """Tell whether two arrays have the same elements."""
    return np.array_equal(x, y)


def flags(size: int, value: bool | int = False) -> Places:
    """An array of one truth value, or number, for each place."""
    made = np.empty(size, type(value))
    made.fill(value)
    return made


def table(rows: int, columns: int) -> Places:
    """A table of small numbers, all 0."""
    return np.zeros((rows, columns), np.intp)


def marked(x: Places | Flags) -> Places:
    """The places where `x` is true."""
    return x.nonzero()[0]


def ranges(starts: Places, counts: Places) -> Places:
    """From each start on as many integers as its count, one range after the other.

    >>> ranges(places([5, 0]), places([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = counts.cumsum()
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - (ends - counts - starts).repeat(counts)


def least_and_greatest(x: Places, starts: Places) -> tuple[Places, Places]:
    """Of runs of elements, each from its start to that of the next."""
    return np.minimum.reduceat(x, starts), np.maximum.reduceat(x, starts)


def sums(x: Places | Flags, starts: Places) -> Places:
    """The sums of runs of elements, each from its start to that of the next."""
    return np.add.reduceat(x, starts, dtype=np.intp)


def jumps(x: Places, starts: Places) -> Places:
    """Number of elements in each run, between its start and the next, that are not one more than the one before.

    >>> jumps(places([5, 6, 7, 2, 4, 4]), places([0, 3])).tolist()
    [0, 2]
    """
    found = np.empty(len(x), np.bool_)
    np.not_equal(x[1:] - x[:-1], 1, out=found[1:])
    found[starts] = False
    return sums(found, starts)


def runs_of(x: Places) -> tuple[Places, Places, Places]:
    """The order that brings equal places together, where each of them starts in it, and each once.

    >>> [part.tolist() for part in runs_of(places([4, 2, 4]))]
    [[1, 0, 2], [0, 1], [2, 4]]
    """
    order = argsort(x)
    ordered = x[order]
    starts = starts_of_runs(ordered)
    return order, starts, ordered[starts]
