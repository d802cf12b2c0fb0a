"""The operands of all launches, one column after the other, so that what each has to be asked is asked of all.

Knows: which results each column reads, and where these lie: whether all of a column are one row, or neighbours.
Refuses to know: what reads a column, and how deltas come back.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.arrays.places import (
    Places,
    concatenate,
    cumulated,
    jumps,
    least_and_greatest,
    occurring,
    places,
    span,
    spread,
    truths,
)


class Columns:
    """Columns of results, each of one or more; `block_of` says which launch brings each result.

    Of each column: whether it `sends` deltas back, is read row by row, `alone`, or gets none from the roots, `dead`.
    """

    def __init__(
        self,
        columns: Sequence[Places],
        block_of: Places,
        blocks: int,
        sends: list[bool],
        alone: Sequence[bool],
        dead: Sequence[bool],
    ) -> None:
        self.sends, self.alone, self.dead = sends, truths(alone), truths(dead)
        self.results = concatenate(columns)
        self.lengths = places([len(column) for column in columns])
        self.bounds = cumulated(self.lengths)
        self.starts = self.bounds[:-1]
        self.of = spread(span(0, len(columns)), self.lengths)  # of each element, its column
        self.blocks = block_of[self.results]
        self.read: list[list[int]] = [[] for _ in columns]  # the blocks that each column reads
        pairs = occurring(self.of * blocks + self.blocks, len(columns) * blocks)
        for column, block in zip((pairs // blocks).tolist(), (pairs % blocks).tolist(), strict=True):
            self.read[column].append(block)

    def lie(self, table_of: Places, row_of: Places) -> None:
        """Tables and rows of results are known."""
        self.tables, self.rows = table_of[self.results], row_of[self.results]
        low, high = least_and_greatest(self.rows, self.starts)
        self.low, self.high = low.tolist(), high.tolist()
        self.jumps = jumps(self.rows, self.starts).tolist()
        self.ends: list[int] = self.bounds.tolist()

    def rows_of(self, column: int) -> Places:
        """The rows that one column reads."""
        return self.rows[self.ends[column] : self.ends[column + 1]]

    def tables_of(self, column: int) -> Places:
        """The tables of these rows."""
        return self.tables[self.ends[column] : self.ends[column + 1]]

    def at(self, column: int) -> Places | slice:
        """The same, as a slice if they are neighbours."""
        if self.jumps[column]:
            return self.rows_of(column)
        return slice(self.low[column], self.high[column] + 1)

    def one(self, column: int) -> slice | None:
        """The row that all are, if there are several, and they are one."""
        several = self.ends[column + 1] - self.ends[column] > 1
        row = self.low[column]
        return slice(row, row + 1) if several and row == self.high[column] else None
