"""Segments of a table: how many rows belong to each example, one example after the other; sums of rows by number.

Knows: where each segment begins, which segment a row belongs to, and that an index into the rows of an example is one
into the table once the rows before it are counted; that rows are summed fastest in rounds, each of which adds one more
row to every sum that has so many.
Refuses to know: what a row is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from wengert.arrays.places import Places

__all__ = ["RowSegments", "RowSums", "join_segments", "split_segments", "sum_rows"]

_MOST_ROUNDS: Final = 64  # a sum of more rows than that goes by runs


class RowSegments:
    """As many segments as `counts` has numbers, each with so many rows.

    >>> two = RowSegments((2, 1))
    >>> two.total, two.starts.tolist(), two.ids.tolist()
    (3, [0, 2], [0, 0, 1])
    """

    def __init__(self, counts: tuple[int, ...]) -> None:
        self.of = counts
        self.counts = np.array(counts, np.intp)
        self.total = sum(counts)

    @cached_property
    def starts(self) -> Places:
        """The first row of each segment."""
        found: Places = np.cumsum(self.counts) - self.counts
        return found

    @cached_property
    def ids(self) -> Places:
        """The segment of each row."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def shares(self, dtype: Any) -> Any:  # Any: numpy's dtype, and an array
        """1 over the number of rows of each segment; infinite where it has none, as nothing has no mean."""
        with np.errstate(divide="ignore"):
            return (1.0 / self.counts).astype(dtype)

    def moved(self, indices: Any, of: Places) -> Places:  # Any: an array of integers of any type
        """Indices into segments, of which row i belongs to segment `of[i]`, as indices into the table.

        Raises IndexError for one outside of its segment; negative ones count from the end of it.
        >>> two = RowSegments((2, 3))
        >>> two.moved(np.array([1, 0, -1]), np.array([0, 1, 1])).tolist()
        [1, 2, 4]
        """
        shape = (-1, *(1,) * (indices.ndim - 1))
        counts = self.counts.take(of).reshape(shape)
        own = (
            indices
            if not indices.size or indices.min() >= 0
            else np.where(indices < 0, indices + counts, indices)
        )
        if own.size and (own.min() < 0 or (own >= counts).any()):
            raise IndexError("an index is outside of the rows of its example")
        found: Places = own + self.starts.take(of).reshape(shape)
        return found


def join_segments(tables: Sequence[Any]) -> Any:  # Any: arrays
    """The rows of all examples as one table."""
    return np.concatenate(tables)


def split_segments(table: Any, segments: RowSegments) -> list[Any]:  # Any: arrays
    """The rows of each example."""
    ends = np.cumsum(segments.counts).tolist()
    return [table[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


class RowSums:
    """The plan for sums of the rows of a table by the number that each row has, used for several tables.

    960 rows of 32 numbers into 384 sums take 16 us, `ufunc.at` 66, sorting and adding up runs 90; the plan takes 48.
    >>> RowSums(np.array([1, 0, 1]), 3).of(np.array([[1.0], [2.0], [4.0]])).tolist()
    [[2.0], [5.0], [0.0]]
    """

    def __init__(self, numbers: Places, sums: int) -> None:
        self._order = order = numbers.argsort(kind="stable")
        counts = np.bincount(numbers, minlength=sums)
        often = (-counts).argsort(kind="stable")
        self._place = np.empty(sums, np.intp)  # of each sum, where the rounds have it: the longest come first
        self._place[often] = np.arange(sums)
        starts, falling = (counts.cumsum() - counts).take(often), -counts.take(often)
        longest = -int(falling[0]) if sums else 0
        self._runs: tuple[Places, Places] | None = None  # the sums of any rows, and where theirs begin
        self._rounds: list[Places] = []
        if longest > _MOST_ROUNDS:
            some = np.flatnonzero(counts)
            self._runs = some, (counts.cumsum() - counts)[some]
            return
        going = falling.searchsorted(np.arange(0, -longest, -1)).tolist()  # how many sums have as many rows
        self._rounds += [order.take(starts[:n] + turn) for turn, n in enumerate(going)]

    def of(self, table: Any) -> Any:  # Any: arrays
        """The sums of the rows of a table, which has as many rows as there are numbers."""
        sums = np.zeros((len(self._place), *table.shape[1:]), table.dtype)
        if self._runs is not None:
            some, starts = self._runs
            sums[some] = np.add.reduceat(table.take(self._order, 0), starts, axis=0)
            return sums
        for members in self._rounds:
            sums[: len(members)] += table.take(members, 0)
        return sums.take(self._place, 0)


def sum_rows(plan: RowSums, table: Any, sums: int, /) -> Any:  # Any: arrays
    """As `plan.of(table)`, which are so many `sums`: a function that programs call."""
    return plan.of(table)
