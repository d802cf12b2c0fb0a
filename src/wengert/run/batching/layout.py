"""What a schedule is: tables of rows in the order of launches, and how each launch reads, writes and sends back.

Knows: that a schedule is numbers only, and what it can be asked.
Refuses to know: how one is found, values, and what a launch computes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from wengert.arrays.places import Flags, Places
from wengert.graph.kinds import Kind
from wengert.run.batching.record import BITS, MASK

Runs: TypeAlias = tuple[Places, Places, Places]


class Mode(IntEnum):
    """How the deltas of an operand's rows reach their places."""

    PUT = 0  # nobody else has been there
    ADD = 1
    SUM = 2  # rows repeat: `runs`
    ONE = 3  # all rows are one


@dataclass(slots=True)
class Read:
    """One operand of a launch."""

    table: int
    at: Places | slice
    mode: Mode = Mode.ADD
    runs: Runs | None = None
    tables: Places | None = None  # of rows that are read one by one, the table of each
    to: Places | slice | None = None  # the rows that deltas go to; None where none does
    feeds: tuple[tuple[int, int], ...] = ()  # the writes that brought those rows
    some: Places | None = None  # which rows of the launch those are, if not all

    def places(self) -> Iterator[tuple[int, int]]:
        """Table and row of each row that is read by itself."""
        assert self.tables is not None and not isinstance(self.at, slice)
        return zip(self.tables.tolist(), self.at.tolist(), strict=True)

    @property
    def one(self) -> bool:
        """Whether all rows of the launch read the same one."""
        return self.mode is Mode.ONE


@dataclass(slots=True)
class Step:
    """One launch: rows `start` to `stop` of its entry, in the entry's own order."""

    entry: int
    start: int
    stop: int
    alone: bool  # row by row, by the ordinary rules
    reads: list[Read]
    writes: list[tuple[int, int]]  # of each result, its table and first row
    counts: Places | None = None  # of sums: how many rows of the read belong to each
    starts: Places | None = None  # and where those of each begin
    dead: bool = False  # no delta comes from the roots
    drops: Sequence[int] = ()  # tables that nobody reads after it

    @property
    def width(self) -> int:
        return self.stop - self.start


@dataclass(slots=True)
class Table:
    """Rows of one kind. `own`: of one launch alone, which brings it. `loose`: a list, of any values."""

    kind: Kind
    rows: int
    own: bool
    loose: bool
    trainable: bool = False
    clear: Places | slice | None = None  # rows of the deltas that nobody puts before others add

    def waits(self, row: int) -> bool:
        """Whether a delta that is there before all others is lost, because a launch puts its own."""
        if isinstance(self.clear, slice) or self.loose:
            return False
        return self.clear is None or row not in self.clear


@dataclass(slots=True)
class Layout:
    """A schedule: nothing in it belongs to one expression, so all of its structure may share it."""

    orders: list[Places]  # of each entry, the order in which launches take its members
    steps: list[Step]
    tables: list[Table]
    table_of: Places  # of each result
    row_of: Places
    base: Places  # of each node, its first result
    starts: list[list[int]]  # of each table, the first rows of launches
    dead: set[tuple[int, int]]  # writes to which no delta comes from the roots
    lost: Flags | None = (
        None  # of each node, whether others use its rows in the end; None: there is a way back
    )

    def write_of(self, place: tuple[int, int]) -> tuple[int, int]:
        """Table and first row of the launch that brought a row."""
        table, row = place
        starts = self.starts[table]
        return table, starts[bisect_right(starts, row) - 1]

    def surprised(self, place: tuple[int, int]) -> bool:
        """Whether a delta that is at a row before all others is not planned for, so that all have to add."""
        return self.tables[place[0]].waits(place[1]) or self.write_of(place) in self.dead

    def place(self, code: int) -> tuple[int, int] | None:
        """Table and row of a result; None if its row is not its own in the end."""
        result = self.base.item(code >> BITS) + (code & MASK)
        if self.lost is not None and self.lost[result]:
            return None
        return self.table_of.item(result), self.row_of.item(result)
