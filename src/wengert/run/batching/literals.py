"""The literals at one operand of several nodes: as they were given, and as a table.

Knows: that literals do not change, so that a table of them is made once and put together with others; that one which
all nodes share is no table.
Refuses to know: nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.arrays import Value
from wengert.arrays.places import Places
from wengert.arrays.rows import constant, joined_rows, stacked, taken

Shared = tuple[bool, Any]  # Any: whether all have one, and that; else the table


class Literals:
    """Of one operand, node by node."""

    __slots__ = ("_table", "shared", "values")

    def __init__(self, values: list[Value]) -> None:
        self.values = values
        self.shared = len({*map(id, values)}) == 1
        self._table: Value = None

    @property
    def table(self) -> Value:
        """All of them as the rows of a table."""
        if self._table is None:
            self._table = stacked(self.values)
        return self._table


def column_of(pieces: Sequence[Literals], order: Places, number: bool) -> Shared:
    """The literals of all pieces in an order; numbers are compared by their bits, not only by identity."""
    first = pieces[0].values[0]
    if all(piece.shared and piece.values[0] is first for piece in pieces):
        return True, first
    table = joined_rows([piece.table for piece in pieces])
    if number and constant(table):
        return True, first
    return False, taken(table, order)
