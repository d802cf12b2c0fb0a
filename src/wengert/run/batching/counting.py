"""How deep each node lies, and how many nodes of its own entry are on the longest such chain that ends at it.

Knows: that two nodes with one count of their own entry never need each other, so that they can run together.
Refuses to know: what is made of the counts.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from wengert.arrays.places import (
    Places,
    argsort,
    counted,
    cumulated,
    distinct,
    flags,
    greatest_of_runs,
    marked,
    ranges,
    table,
)
from wengert.run.batching.record import Record

_MOST: Final = 1 << 26  # counts in memory; a graph with more is grouped by depth
_NARROW: Final = 256  # levels after which a graph of less than two nodes a level is one to run node by node


class Counts(NamedTuple):
    """Of each node its depth, and its count; -1 for what is inside a sum."""

    depths: Places
    own: Places


class _Edges:
    """Operands of nodes and readers of nodes, by node."""

    def __init__(self, source: Places, reader: Places, size: int) -> None:
        order = argsort(reader)
        self.sources, self.taken = source[order], counted(reader, size)
        self.first = cumulated(self.taken)
        order = argsort(source)
        self.readers, self.read = reader[order], counted(source, size)
        self.first_reader = cumulated(self.read)

    def below(self, nodes: Places) -> tuple[Places, Places]:
        """The operands of nodes one after the other, and where those of each begin."""
        taken = self.taken[nodes]
        return self.sources[ranges(self.first[nodes], taken)], cumulated(taken)[:-1]

    def above(self, nodes: Places) -> Places:
        """The readers of nodes, once for each operand."""
        return self.readers[ranges(self.first_reader[nodes], self.read[nodes])]


def counts_of(record: Record) -> Counts | None:
    """Level by level; None for a graph so narrow that nothing would be gained."""
    size = record.size
    entry = flags(size, -1)
    for number, each in enumerate(record.entries):
        entry[each.members] = number
    edges = _Edges(*record.edges(), size)
    wide = size * len(record.entries) <= _MOST
    chains = table(size if wide else 0, len(record.entries))
    depths, own = flags(size, -1), flags(size, -1)
    missing = edges.taken.copy()
    level = marked((missing == 0) & (entry >= 0))
    depth = done = 0
    while len(level):
        depths[level] = depth
        if wide:
            if depth:
                operands, starts = edges.below(level)
                chains[level] = greatest_of_runs(chains[operands], starts)
            mine = chains[level, entry[level]] + 1
            chains[level, entry[level]] = own[level] = mine
        depth += 1
        done += len(level)
        if depth >= _NARROW and depth & (depth - 1) == 0 and done < 2 * depth:
            return None
        readers, times = distinct(edges.above(level))
        missing[readers] -= times
        level = readers[missing[readers] == 0]
    return Counts(depths, own if wide else depths)
