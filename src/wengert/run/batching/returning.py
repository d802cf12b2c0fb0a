"""How deltas come back to the rows that launches have read.

Knows: that the last reader of a row is the first to send it a delta, and may put it there where all others add; that
rows which a column repeats are summed first; that literals among values of nodes get none.
Refuses to know: deltas.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.arrays.places import (
    Places,
    cumulated,
    distinct,
    flags,
    marked,
    places,
    runs_of,
    sums,
)
from wengert.run.batching.columns import Columns
from wengert.run.batching.layout import Mode, Read, Table


class Returning:
    """The way back of all columns: `add` each in turn, then `plan`."""

    def __init__(
        self, columns: Columns, trainable: Places, table_of: Places, first: Places, tables: Sequence[Table]
    ) -> None:
        self.columns = columns
        self.tables = tables
        self.trainable = trainable.tolist()
        self.wants = trainable[columns.blocks] > 0  # of each element, whether what it reads wants a delta
        self.wanted = sums(self.wants, columns.starts).tolist()
        self.table_of, self.first = table_of.tolist(), first.tolist()
        self.reads: list[Read] = []
        self.sending: list[bool] = []
        self.alone: list[bool] = []
        self.dead: list[bool] = []

    def add(self, read: Read, sends: bool, alone: bool, dead: bool) -> None:
        """Where the deltas of one column go: not to literals that lie among values of nodes."""
        column, columns = len(self.reads), self.columns
        self.reads.append(read)
        self.alone.append(alone)
        self.dead.append(dead)
        wanted = self.wanted[column] if sends and not alone else 0
        self.sending.append(wanted > 0)
        if not wanted:
            return
        begin, end = columns.ends[column], columns.ends[column + 1]
        if wanted == end - begin:
            read.to = read.at
        else:
            read.some = marked(self.wants[begin:end])
            read.to = columns.rows[begin:end][read.some]
        blocks = [b for b in columns.read[column] if self.trainable[b]]
        read.feeds = tuple((self.table_of[b], self.first[b]) for b in blocks)

    def plan(self) -> None:
        """How deltas reach each table."""
        columns = self.columns
        first = cumulated(places([table.rows for table in self.tables]))
        size = int(first[-1])
        rows = first[columns.tables] + columns.rows
        last = flags(size, -1)
        of, sends = columns.of, self.wants & (places(self.sending) > 0)[columns.of]
        alive = sends & (places(self.dead) == 0)[of]
        last[rows[alive]] = of[alive]
        last[rows[(places(self.alone) > 0)[of]]] = -2  # by itself it only adds
        others = sums(sends & (last[rows] != of), columns.starts).tolist()
        names = of[sends] * size + rows[sends]
        ordered, times = distinct(names)
        repeating = set((ordered[times > 1] // size).tolist())
        put = flags(size)
        for column, read in enumerate(self.reads):
            if read.to is None or read.mode is Mode.ONE or self.tables[read.table].loose:
                continue
            if column in repeating:
                assert not isinstance(read.to, slice), "neighbours are different rows"
                read.mode, read.runs = Mode.SUM, runs_of(read.to)
            elif not others[column]:
                read.mode = Mode.PUT
                part = put[first[read.table] : first[read.table + 1]]
                part[read.to] = True
        for number, table in enumerate(self.tables):
            rest = marked(~put[first[number] : first[number + 1]])
            if len(rest):
                table.clear = slice(0, table.rows) if len(rest) == table.rows else rest
