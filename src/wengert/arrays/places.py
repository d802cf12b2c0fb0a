"""Arithmetic on places: arrays of integers that say where rows lie, always on the host.

Knows: the functions of numpy that schedules are made with, and which places follow each other.
Refuses to know: what lies at a place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "Places",
    "argsort",
    "concatenate",
    "counted",
    "cumulated",
    "distinct",
    "flags",
    "greatest_of_runs",
    "jumps",
    "least_and_greatest",
    "lengths",
    "marked",
    "places",
    "ranges",
    "runs_of",
    "span",
    "spread",
    "spread_evenly",
    "starts_of_runs",
    "sums",
    "table",
]

Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]  # Any: as below
Places: TypeAlias = np.ndarray[Any, np.dtype[np.intp]]  # Any: one axis, or two for a table of operands


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
    """The places of the elements in ascending order, equal ones as they come."""
    return np.argsort(x, kind="stable")


def concatenate(parts: Sequence[Places]) -> Places:
    """One array after the other."""
    return np.concatenate(parts) if parts else np.zeros(0, np.intp)


def counted(x: Places, size: int) -> Places:
    """How often each integer below `size` occurs."""
    return np.bincount(x, minlength=size)


def cumulated(x: Places) -> Places:
    """The sum of what stands before each element, and of all.

    >>> cumulated(places([2, 3])).tolist()
    [0, 2, 5]
    """
    total = np.zeros(len(x) + 1, np.intp)
    np.cumsum(x, out=total[1:])
    return total


def distinct(x: Places) -> tuple[Places, Places]:
    """Each integer once, ascending, and how often it occurs.

    >>> [part.tolist() for part in distinct(places([4, 2, 4]))]
    [[2, 4], [1, 2]]
    """
    ordered = np.sort(x)  # `np.unique` takes three times as long for a few
    starts = starts_of_runs(ordered)
    return ordered[starts], lengths(starts, len(x))


def starts_of_runs(ordered: Places) -> Places:
    """Where runs of equal numbers begin.

    >>> starts_of_runs(places([2, 2, 4])).tolist()
    [0, 2]
    """
    new = np.empty(len(ordered), np.bool_)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return np.flatnonzero(new)


def lengths(starts: Places, end: int) -> Places:
    """How long runs are, given where each begins, and where the last one ends."""
    ends = np.empty(len(starts), np.intp)
    ends[:-1] = starts[1:]
    ends[-1:] = end
    return ends - starts


def greatest_of_runs(table: Places, starts: Places) -> Places:
    """The greatest numbers, column by column, of runs of rows, each from its start to that of the next."""
    return np.maximum.reduceat(table, starts, axis=0)


def spread(x: Places, times: Places) -> Places:
    """Each element as often as `times` says."""
    return np.repeat(x, times)


def spread_evenly(x: Places, times: int) -> Places:
    """Each element so many times."""
    return np.repeat(x, times)


def flags(size: int, value: bool | int = False) -> Places:
    """The same truth value, or number, for each place."""
    return np.full(size, value)


def table(rows: int, columns: int) -> Places:
    """A table of small numbers, all 0."""
    return np.zeros((rows, columns), np.intp)


def marked(x: Places | Flags) -> Places:
    """The places where `x` is true."""
    return np.flatnonzero(x)


def ranges(starts: Places, counts: Places) -> Places:
    """From each start on as many integers as its count, one range after the other.

    >>> ranges(places([5, 0]), places([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - np.repeat(ends - counts - starts, counts)


def least_and_greatest(x: Places, starts: Places) -> tuple[Places, Places]:
    """Of runs of elements, each from its start to that of the next."""
    return np.minimum.reduceat(x, starts), np.maximum.reduceat(x, starts)


def sums(x: Places | Flags, starts: Places) -> Places:
    """The sums of runs of elements, each from its start to that of the next."""
    return np.add.reduceat(x, starts, dtype=np.intp)


def jumps(x: Places, starts: Places) -> Places:
    """Of runs of elements, each from its start to that of the next, how many are not one more than what is before.

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
