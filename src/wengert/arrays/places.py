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
    "consecutive",
    "counted",
    "cumulated",
    "distinct",
    "flags",
    "greatest_of_runs",
    "marked",
    "places",
    "ranges",
    "repeats",
    "runs_of",
    "span",
    "spread",
    "spread_evenly",
    "table",
]

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
    """Each integer once, ascending, and how often it occurs."""
    return np.unique(x, return_counts=True)


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


def marked(x: Places) -> Places:
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


def consecutive(x: Places) -> bool:
    """Whether each place is the one after its predecessor."""
    n = len(x)
    return n < 2 or (int(x[-1]) - int(x[0]) == n - 1 and bool((x[1:] - x[:-1] == 1).all()))


def repeats(x: Places, scratch: Places) -> bool:
    """Whether a place occurs twice; `scratch` has a cell for each place that can occur."""
    numbers = np.arange(len(x))
    scratch[x] = numbers
    return bool((scratch[x] != numbers).any())


def runs_of(x: Places) -> tuple[Places, Places, Places]:
    """The order that brings equal places together, where each of them starts in it, and each once.

    >>> [part.tolist() for part in runs_of(places([4, 2, 4]))]
    [[1, 0, 2], [0, 1], [2, 4]]
    """
    order = argsort(x)
    ordered = x[order]
    starts = np.flatnonzero(np.concatenate((np.ones(1, bool), ordered[1:] != ordered[:-1])))
    return order, starts, ordered[starts]
