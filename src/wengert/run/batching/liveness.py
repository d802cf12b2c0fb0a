"""Liveness of results where no delta will come back, and the rows of tables that are free again.

Knows: that a row is free once its last reader has run, and lies beside others that are free from then on, because the
rows of a launch stand in the order of their last readers; that what is read row by row may be looked at for longer.
Refuses to know: which launches there are, and values.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from wengert.arrays.places import (
    Places,
    argsort,
    concatenate,
    counted,
    cumulated,
    flags,
    lengths,
    places,
    spread,
    starts_of_runs,
)
from wengert.run.batching.region import BITS, MASK, RegionGraph, RowSource


class Liveness:
    """The last launch that reads, or brings, each result; those at the codes `kept` are read after all.

    `base`: of each node, its first result.
    """

    def __init__(self, graph: RegionGraph, launch_of: Places, base: Places, kept: Iterable[int]) -> None:
        self.end = int(launch_of.max()) + 1  # no launch
        codes = concatenate([*[group.refs.reshape(-1) for group in graph.groups], places(kept)])
        read = base[codes >> BITS] + (codes & MASK)
        _, readers = graph.edges()
        at = flags(len(read), self.end)
        at[: len(readers)] = launch_of[readers]
        order = argsort(at)
        self.last = spread(launch_of, base[1:] - base[:-1])
        self.last[read[order]] = at[order]  # of several the greatest, which comes last
        alone = flags(graph.size)
        widths = counted(launch_of[launch_of >= 0], self.end)
        for group in graph.groups:
            if group.form.source is RowSource.ALONE:
                alone[group.members] = True
            elif group.form.source is RowSource.OPERATION:
                alone[group.members] = widths[launch_of[group.members]] == 1
        self.free = self.last.copy()  # the last launch before others may write there
        self.free[read[: len(readers)][alone[readers]]] = self.end
        self.lost = self.last < self.end  # whether its value is not there in the end
        total = cumulated(self.free)
        turns = total[base[1:]] - total[base[:-1]]
        # of each node, where it stands: launch by launch, and in one those first whose rows are free first
        self.turns = launch_of * (int(turns.max()) + 1) + turns


class FreeRows:
    """The rows of one table, given out and taken back.

    >>> free = FreeRows()
    >>> [free.take(count) for count in (4, 2)]
    [0, 4]
    >>> free.give(0, 1), free.give(2, 2), free.give(1, 1)
    (None, None, None)
    >>> free.take(3), free.take(2), free.rows
    (0, 6, 8)
    """

    def __init__(self) -> None:
        self.rows = 0
        self._free: list[tuple[int, int]] = []  # from where to where, ascending, with something between them

    def take(self, count: int) -> int:
        """Take so many neighbours that are free; the first of them."""
        fitting = [(stop - start, at) for at, (start, stop) in enumerate(self._free) if stop - start >= count]
        if fitting:
            _, at = min(fitting)
            start, stop = self._free[at]
            self._free[at : at + 1] = [(start + count, stop)] if start + count < stop else []
            return start
        start = self.rows
        if self._free and self._free[-1][1] == self.rows:
            start, _ = self._free.pop()
        self.rows = start + count
        return start

    def give(self, start: int, count: int) -> None:
        """Take rows back: they are free from now on."""
        stop = start + count
        at = bisect_left(self._free, (start, stop))
        if at < len(self._free) and self._free[at][0] == stop:
            _, stop = self._free.pop(at)
        if at and self._free[at - 1][1] == start:
            at -= 1
            start, _ = self._free.pop(at)
        self._free.insert(at, (start, stop))


class AppendedRows:
    """Rows for the results of launches, each behind all others of its table."""

    reused = False

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}  # rows of each table, by number

    def first(self, table: int, loose: bool, launch: int, results: Places) -> int:
        """The first of the rows in a table for the results of a launch; `loose`: the table is a list."""
        first = self.sizes.get(table, 0)
        self.sizes[table] = first + len(results)
        return first

    def dropped(self) -> dict[int, list[int]]:
        """By launch the tables that nobody reads after it."""
        return {}


class ReusedRows(AppendedRows):
    """Rows that nobody reads any more; asked for in the order of launches."""

    reused = True

    def __init__(self, live: Liveness) -> None:
        super().__init__()
        self._live = live
        self._free: dict[int, FreeRows] = {}  # of each table
        self._due: list[list[tuple[int, int, int]]] = [
            [] for _ in range(live.end + 1)
        ]  # rows free after each
        self._begun = 0
        self._last: dict[int, int] = {}  # reader of each table

    def first(self, table: int, loose: bool, launch: int, results: Places) -> int:
        """The first of the rows; results stand in the order in which their rows become free, as far as that is one."""
        self._last[table] = max(self._last.get(table, 0), int(self._live.last[results].max()))
        if loose:
            return super().first(table, loose, launch, results)
        while self._begun < launch:
            for number, start, count in self._due[self._begun]:
                self._free[number].give(start, count)
            self._begun += 1
        rows = self._free.setdefault(table, FreeRows())
        first = rows.take(len(results))
        self.sizes[table] = rows.rows
        free = self._live.free[results]
        starts = starts_of_runs(free)
        counts = lengths(starts, len(free))
        for after, start, count in zip(free[starts].tolist(), starts.tolist(), counts.tolist(), strict=True):
            self._due[after].append((table, first + start, count))
        return first

    def dropped(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for table, launch in self._last.items():
            found.setdefault(launch, []).append(table)
        return found
