"""How many nodes of its own entry are on the longest such chain that ends at each node, and how deep it lies.

Knows: that two nodes with one count of their own entry never need each other, so that they can run together; that
only entries in a circle have chains; that count and depth of a node depend on what is below it, so that a block of
nodes remembers them for as long as they stand in the same entries, and the same of these are in circles.
Refuses to know: what is made of the counts.
"""

from __future__ import annotations

from typing import Final

from wengert.arrays.places import (
    Places,
    argsort,
    concatenate,
    counted,
    cumulated,
    flags,
    greatest_of_runs,
    marked,
    places,
    ranges,
    span,
    starts_of_runs,
    table,
)
from wengert.graph.operators import ADD
from wengert.run.batching.circles import circles_in, needed_by
from wengert.run.batching.record import Entry, Record

_MOST: Final = 1 << 26  # counts in memory; a graph with more is grouped by depth
_NARROW: Final = 256  # levels after which a graph of less than two nodes a level is one to run node by node


class Counting:
    """The counts of one record. `entry`: of each node, -1 for what is inside a sum; and both ends of its edges."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.sources, self.readers = record.edges()
        self.entry = flags(record.size, -1)
        for number, each in enumerate(record.entries):
            self.entry[each.members] = number
        size = len(record.entries)
        needs = needed_by(self.entry[self.sources], self.entry[self.readers], size)
        self._circling = flags(size)
        self._circling[circles_in(needs)] = True
        self._levels: _Levels | None = None

    def own(self) -> Places | None:
        """The count of each node; None for a graph so narrow that nothing would be gained."""
        own = flags(self.record.size, 1)
        inside = self._circling[self.entry] & (self.entry >= 0)
        if not inside.any():
            return own
        few = int(inside.sum()) * int(self._circling.sum()) <= _MOST
        remembers = few and not any(_depends(self.record.entries[i]) for i in marked(self._circling).tolist())
        depths = self._remembered(own, inside) if remembers else None
        if depths is not None:  # too narrow is what was too narrow when nobody remembered anything
            return None if _narrow(_ends(depths), self.record.size - len(depths)) else own
        levels = self._found()
        if not levels.complete:
            return None
        own[levels.nodes] = levels.own
        if remembers:
            depths = flags(self.record.size, -1)
            depths[levels.nodes] = levels.depths
            for part in self.record.parts:
                part.block.counts = part.targets, own[part.numbers], depths[part.numbers]
        return own

    def depths(self) -> Places:
        """How deep each node lies in what can be in a circle."""
        depths = flags(self.record.size, 0)
        levels = self._found()
        depths[levels.nodes] = levels.depths
        return depths

    def _remembered(self, own: Places, inside: Places) -> Places | None:
        """The depths of all nodes inside circles of entries, if blocks know them; then `own` has their counts."""
        parts = self.record.parts
        counts = [part.block.counts for part in parts]  # one look, for another thread may find others
        if not parts or not all(of == part.targets for (of, _, _), part in zip(counts, parts, strict=True)):
            return None
        numbers = concatenate([part.numbers for part in parts])
        depths = flags(self.record.size, -1)
        depths[numbers] = concatenate([each for _, _, each in counts])
        if ((depths >= 0) != inside).any():
            return None
        own[numbers] = concatenate([each for _, each, _ in counts])
        return depths[inside]

    def _found(self) -> _Levels:
        if self._levels is None:
            self._levels = _Levels(self, self._circling)
        return self._levels


def _depends(entry: Entry) -> bool:
    """Whether counts depend on which additions are one sum, for which all of a record has to be known."""
    return entry.signature is None or entry.signature.operation is ADD


class _Levels:
    """The nodes of entries that are in a circle, level by level, as if there were no others."""

    def __init__(self, counting: Counting, circling: Places) -> None:
        entry = counting.entry
        here = circling[entry] & (entry >= 0)
        self.nodes = marked(here)
        size, columns = len(self.nodes), int(circling.sum())
        number = flags(len(entry), 0)
        number[self.nodes] = span(0, size)
        both = here[counting.sources] & here[counting.readers]
        sources, readers = number[counting.sources[both]], number[counting.readers[both]]
        order = argsort(readers)
        sources, readers = sources[order], readers[order]
        once = starts_of_runs(readers * size + sources)  # results of one cell are one operand
        sources, readers = sources[once], readers[once]
        self.depths = _depths(sources, readers, size)
        order, ends = argsort(self.depths), _ends(self.depths)
        self.complete = not _narrow(ends, len(entry) - size)
        self.own = self.depths + 1
        if self.complete and size * columns <= _MOST:
            column = cumulated(circling * 1)[entry[self.nodes]]
            self.own[order] = _chains(order, ends, column[order], sources, counted(readers, size), columns)


def _depths(sources: Places, readers: Places, size: int) -> Places:
    """The longest way down from each node; edges come in the order of their readers, and operands before those."""
    depths = [0] * size
    for source, reader in zip(sources.tolist(), readers.tolist(), strict=True):
        if depths[source] >= depths[reader]:
            depths[reader] = depths[source] + 1
    return places(depths)


def _ends(depths: Places) -> Places:
    """How many nodes are less deep than 0, than 1, and so on."""
    return cumulated(counted(depths, 1))


def _narrow(ends: Places, besides: int) -> bool:
    """Whether less than two nodes are on a level, after so many levels that it counts.

    `ends` counts the nodes; there are others `besides`.
    """
    levels = _NARROW
    while levels < len(ends):
        if ends[levels] + besides < 2 * levels:
            return True
        levels *= 2
    return False


def _chains(
    order: Places, ends: Places, entry: Places, sources: Places, taken: Places, entries: int
) -> Places:
    """The counts of nodes in an order, level by level; `sources` and `taken` are those of nodes by number."""
    first = cumulated(taken)
    taken, rank = taken[order], flags(len(first), 0)
    rank[order] = span(0, len(order))
    operands = rank[sources[ranges(first[order], taken)]]
    starts = cumulated(taken)
    chains = table(len(order), entries)
    mine = span(0, len(order)) * entries + entry
    flat = chains.reshape(-1)
    begin = 0
    for end in ends[1:].tolist():
        if begin:
            at = starts[begin : end + 1]
            chains[begin:end] = greatest_of_runs(chains[operands[at[0] : at[-1]]], at[:-1] - at[0])
        flat[mine[begin:end]] += 1
        begin = end
    found: Places = flat[mine]
    return found
