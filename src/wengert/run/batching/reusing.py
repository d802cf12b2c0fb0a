"""Rows that are used again: where launches write when no delta will come back.

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
from wengert.run.batching.form import Way
from wengert.run.batching.layout import Table
from wengert.run.batching.record import BITS, MASK, Record


class Uses:
    """Of each result the last launch that reads it, or that brings it; those at the codes `kept` are read after all.

    `base`: of each node, its first result.
    """

    def __init__(self, record: Record, groups: Places, base: Places, kept: Iterable[int]) -> None:
        self.end = int(groups.max()) + 1  # no launch
        codes = concatenate([*[entry.refs.reshape(-1) for entry in record.entries], places(kept)])
        read = base[codes >> BITS] + (codes & MASK)
        _, readers = record.edges()
        at = flags(len(read), self.end)
        at[: len(readers)] = groups[readers]
        order = argsort(at)
        self.last = spread(groups, base[1:] - base[:-1])
        self.last[read[order]] = at[order]  # of several the greatest, which comes last
        alone = flags(record.size)
        widths = counted(groups[groups >= 0], self.end)
        for entry in record.entries:
            if entry.form.way is Way.ALONE:
                alone[entry.members] = True
            elif entry.form.way is Way.OPERATION:
                alone[entry.members] = widths[groups[entry.members]] == 1
        self.free = self.last.copy()  # the last launch before others may write there
        self.free[read[: len(readers)][alone[readers]]] = self.end
        self.lost = self.last < self.end  # whether its value is not there in the end
        total = cumulated(self.free)
        turns = total[base[1:]] - total[base[:-1]]
        # of each node, where it stands: launch by launch, and in one those first whose rows are free first
        self.turns = groups * (int(turns.max()) + 1) + turns


class Shelf:
    """The rows of one table, given out and taken back.

    >>> shelf = Shelf()
    >>> [shelf.take(count) for count in (4, 2)]
    [0, 4]
    >>> shelf.give(0, 1), shelf.give(2, 2), shelf.give(1, 1)
    (None, None, None)
    >>> shelf.take(3), shelf.take(2), shelf.rows
    (0, 6, 8)
    """

    def __init__(self) -> None:
        self.rows = 0
        self._free: list[tuple[int, int]] = []  # from where to where, ascending, with something between them

    def take(self, count: int) -> int:
        """So many neighbours that are free; the first of them."""
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
        """These are free from now on."""
        stop = start + count
        at = bisect_left(self._free, (start, stop))
        if at < len(self._free) and self._free[at][0] == stop:
            _, stop = self._free.pop(at)
        if at and self._free[at - 1][1] == start:
            at -= 1
            start, _ = self._free.pop(at)
        self._free.insert(at, (start, stop))


class InOrder:
    """Every launch writes behind all others."""

    reused = False

    def first(self, number: int, table: Table, launch: int, results: Places) -> int:
        """Where the rows of a launch, of these results, begin in the table of that number."""
        table.rows += len(results)
        return table.rows - len(results)

    def dropped(self) -> dict[int, list[int]]:
        """By launch the tables that nobody reads after it."""
        return {}


class Reusing(InOrder):
    """A launch writes where nobody reads any more; asked in the order of launches."""

    reused = True

    def __init__(self, uses: Uses) -> None:
        self._uses = uses
        self._shelves: dict[int, Shelf] = {}
        self._due: list[list[tuple[int, int, int]]] = [
            [] for _ in range(uses.end + 1)
        ]  # rows free after each
        self._begun = 0
        self._last: dict[int, int] = {}  # reader of each table

    def first(self, number: int, table: Table, launch: int, results: Places) -> int:
        """As above; the results stand in the order in which their rows become free, as far as that is one."""
        self._last[number] = max(self._last.get(number, 0), int(self._uses.last[results].max()))
        if table.loose:
            return super().first(number, table, launch, results)
        while self._begun < launch:
            for name, start, count in self._due[self._begun]:
                self._shelves[name].give(start, count)
            self._begun += 1
        shelf = self._shelves.setdefault(number, Shelf())
        first = shelf.take(len(results))
        table.rows = shelf.rows
        free = self._uses.free[results]
        starts = starts_of_runs(free)
        counts = lengths(starts, len(free))
        for after, start, count in zip(free[starts].tolist(), starts.tolist(), counts.tolist(), strict=True):
            self._due[after].append((number, first + start, count))
        return first

    def dropped(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for table, launch in self._last.items():
            found.setdefault(launch, []).append(table)
        return found
