"""Grouping of nodes into launches: which run together, and in topological order.

Knows: that nodes of one group whose longest chains hold equally many of their own group never need each other, so that
they can run together; that only groups in a cycle have chains; that launches which need each other in a cycle are split
by depth, or so that the groups of the cycle take turns, and only there; that there are few groups however many nodes
there are.
Refuses to know: rows, operations, and values.

Source: cycles are found as strongly connected components: Tarjan 1972.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final

from wengert.arrays.places import (
    Flags,
    Places,
    argsort,
    counted,
    cumulated,
    flags,
    greatest_of_runs,
    marked,
    occurring,
    places,
    ranges,
    span,
    starts_of_runs,
    table,
)
from wengert.run.batching.region import RegionGraph, RowSource

_MOST: Final = 1 << 26  # counts in memory; a graph with more is grouped by depth
_GREATEST: Final = 1 << 60  # number of a turn
_NARROW: Final = 8  # levels after which a graph of less than two nodes a level is one to run node by node


def grouped(graph: RegionGraph) -> Places | None:
    """For each node the place of its launch in the order of launches; -1 for what is inside a sum.

    None for a graph so narrow that nothing would be gained.
    """
    counts = ChainCounts(graph)
    own = counts.own()
    if own is None:
        return None
    launches = _numbered(counts.group * (int(own.max()) + 1) + own, counts.group >= 0)
    size = int(launches.max()) + 1
    successors = _readers_of(launches[counts.sources], launches[counts.readers], size)
    order = _topological(successors)
    if order is None:
        split = flags(size)
        split[_cyclic(successors)] = True
        apart = (launches >= 0) & split[launches]
        launches = _split(counts, launches, apart)
        size = int(launches.max()) + 1
        order = _topological(_readers_of(launches[counts.sources], launches[counts.readers], size))
    assert order is not None, "launches without circles have an order"
    place = flags(size + 1, -1)  # the last one is of what has no launch
    place[order] = span(0, size)
    return place[launches]


def _split(counts: ChainCounts, launches: Places, apart: Places) -> Places:
    """Launches, of which those of some nodes are `apart`: by depth, or by turns, if that makes fewer of them."""
    depths, known = counts.depths(), launches >= 0
    found = _numbered(launches * (int(depths.max()) + 1) + depths * apart, known)
    turns = counts.turns()
    if turns is None:
        return found
    inside = turns >= 0
    by_turns = launches.copy()
    by_turns[inside] = int(launches.max()) + 1 + _numbered(turns[inside], turns[inside] >= 0)
    by_turns = _numbered(by_turns, known)
    return by_turns if by_turns.max() < found.max() else found


def _numbered(launches: Places, known: Flags) -> Places:
    """Numbers without gaps, in the same order; -1 for what is not `known`."""
    size = int(launches.max()) + 1
    used = occurring(launches[known], size)
    if size <= 4 * len(launches) + 64:
        numbers = flags(size + 1, -1)  # the last one is of what is not known
        numbers[used] = span(0, len(used))
        return numbers[launches * known + (known * 1 - 1)]
    found: Places = (used.searchsorted(launches) + 1) * known - 1
    return found


class ChainCounts:
    """Counts of nodes: those of its own group on the longest chain of them that ends at each node, and its depth.

    `group`: of each node, -1 for what is inside a sum; and both ends of the edges.
    """

    def __init__(self, graph: RegionGraph) -> None:
        self.graph = graph
        self.sources, self.readers = graph.edges()
        self.group = flags(graph.size, -1)
        for number, each in enumerate(graph.groups):
            self.group[each.members] = number
        size = len(graph.groups)
        successors = _readers_of(self.group[self.sources], self.group[self.readers], size)
        self._in_cycle = flags(size)
        self._cycles = [*_cycles(successors)]
        for cycle in self._cycles:
            self._in_cycle[cycle] = True
        # nodes that are computed and in no cycle: a chain whose nodes each read a literal is as narrow as without them
        self.besides = sum(
            len(g.members)
            for g, circular in zip(graph.groups, self._in_cycle.tolist(), strict=True)
            if not circular and g.form.source is not RowSource.GIVEN
        )
        self._levels: _Levels | None = None

    def own(self) -> Places | None:
        """The count of each node; None for a graph so narrow that nothing would be gained."""
        own = flags(self.graph.size, 1)
        inside = self._in_cycle[self.group] & (self.group >= 0)
        if not inside.any():
            return own
        levels = self._found()
        if not levels.complete:
            return None
        own[levels.nodes] = levels.own
        return own

    def depths(self) -> Places:
        """The depth of each node among the groups in cycles."""
        depths = flags(self.graph.size, 0)
        levels = self._found()
        depths[levels.nodes] = levels.depths
        return depths

    def turns(self) -> Places | None:
        """The turn of each node whose group is in a cycle, -1 of others; None where the numbers are too great.

        The groups of a cycle count like the digits of a number: a node has the greatest number of its operands with one
        more at the digit of its group, and 0 at all that come after. So every number is of one group, and greater than
        those that it needs. Groups that are met first have the first digits.
        """
        levels = self._found()
        base, digits = len(_ends(levels.depths)) + 1, max(map(len, self._cycles))
        if base**digits * len(self._cycles) > _GREATEST:
            return None
        weights, cycles = flags(len(self.graph.groups), 0), flags(len(self.graph.groups), 0)
        for number, cycle in enumerate(self._cycles):
            cycles[cycle] = number
            weights[sorted(cycle)] = [base**i for i in range(len(cycle) - 1, -1, -1)]
        group = self.group[levels.nodes]
        turns = flags(self.graph.size, -1)
        turns[levels.nodes] = levels.turns(weights[group], cycles[group]) * len(self._cycles) + cycles[group]
        return turns

    def _found(self) -> _Levels:
        if self._levels is None:
            self._levels = _Levels(self, self._in_cycle)
        return self._levels


class _Levels:
    """The nodes of groups that are in a cycle, level by level, as if there were no others."""

    def __init__(self, counts: ChainCounts, in_cycle: Places) -> None:
        group = counts.group
        here = in_cycle[group] & (group >= 0)
        self.nodes = marked(here)
        size, columns = len(self.nodes), int(in_cycle.sum())
        number = flags(len(group), 0)
        number[self.nodes] = span(0, size)
        both = here[counts.sources] & here[counts.readers]
        sources, readers = number[counts.sources[both]], number[counts.readers[both]]
        order = argsort(readers)
        sources, readers = sources[order], readers[order]
        once = starts_of_runs(readers * size + sources)  # results of one cell are one operand
        sources, readers = sources[once], readers[once]
        self.sources, self.readers = sources, readers
        self.depths = _depths(sources, readers, size)
        order, ends = argsort(self.depths), _ends(self.depths)
        self.complete = not _narrow(ends, counts.besides)
        self.own = self.depths + 1
        if self.complete and size * columns <= _MOST:
            column = cumulated(in_cycle * 1)[group[self.nodes]]
            self.own[order] = _chains(order, ends, column[order], sources, counted(readers, size), columns)

    def turns(self, weights: Places, cycles: Places) -> Places:
        """The turns of nodes, given the weights of their groups' digits and their cycles."""
        found = [0] * len(weights)  # the greatest of their operands
        same = cycles[self.sources] == cycles[self.readers]
        weight = weights.tolist()
        for source, reader in zip(self.sources[same].tolist(), self.readers[same].tolist(), strict=True):
            one = weight[source]
            turn = (found[source] // one + 1) * one
            if turn > found[reader]:
                found[reader] = turn
        greatest: Places = (places(found) // weights + 1) * weights
        return greatest


def _depths(sources: Places, readers: Places, size: int) -> Places:
    """The longest way down from each node; edges come in the order of their readers, and operands before those."""
    depths = [0] * size
    for source, reader in zip(sources.tolist(), readers.tolist(), strict=True):
        if depths[source] >= depths[reader]:
            depths[reader] = depths[source] + 1
    return places(depths)


def _ends(depths: Places) -> Places:
    """The numbers of nodes that are less deep than 0, than 1, and so on."""
    return cumulated(counted(depths, 1))


def _narrow(ends: Places, besides: int) -> bool:
    """True if less than two nodes are on a level, after so many levels that it counts.

    `ends` counts the nodes; there are others `besides`.
    """
    levels = _NARROW
    while levels < len(ends):
        if ends[levels] + besides < 2 * levels:
            return True
        levels *= 2
    return False


def _chains(
    order: Places, ends: Places, group: Places, sources: Places, taken: Places, groups: int
) -> Places:
    """The counts of nodes in an order, level by level; `sources` and `taken` are those of nodes by number."""
    first = cumulated(taken)
    taken, rank = taken[order], flags(len(first), 0)
    rank[order] = span(0, len(order))
    operands = rank[sources[ranges(first[order], taken)]]
    starts = cumulated(taken)
    chains = table(len(order), groups)
    mine = span(0, len(order)) * groups + group
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


def _readers_of(sources: Places, readers: Places, size: int) -> list[list[int]]:
    """For each number below `size` those that read it, from the numbers at both ends of every edge."""
    pairs = occurring(sources * size + readers, size * size)
    found: list[list[int]] = [[] for _ in range(size)]
    for source, reader in zip((pairs // size).tolist(), (pairs % size).tolist(), strict=True):
        found[source].append(reader)
    return found


def _topological(successors: list[list[int]]) -> list[int] | None:
    """Every vertex after those that it reads; None where there is a cycle."""
    missing = [0] * len(successors)
    for readers in successors:
        for reader in readers:
            missing[reader] += 1
    order = [vertex for vertex in range(len(successors)) if not missing[vertex]]
    for vertex in order:
        for reader in successors[vertex]:
            missing[reader] -= 1
            if not missing[reader]:
                order.append(reader)
    return order if len(order) == len(successors) else None


def _cycles(successors: list[list[int]]) -> Iterator[list[int]]:
    """The vertices that need themselves, or each other."""
    for component in _components(successors):
        if len(component) > 1 or component[0] in successors[component[0]]:
            yield component


def _cyclic(successors: list[list[int]]) -> list[int]:
    """The vertices in any of those."""
    return [vertex for cycle in _cycles(successors) for vertex in cycle]


def _components(successors: list[list[int]]) -> Iterator[list[int]]:
    """Strongly connected components, with a stack of our own."""
    index, low, is_open = [0] * len(successors), [0] * len(successors), [False] * len(successors)
    opened: list[int] = []
    path: list[tuple[int, Iterator[int]]] = []
    numbers = count(1)

    def enter(vertex: int) -> None:
        index[vertex] = low[vertex] = next(numbers)
        is_open[vertex] = True
        opened.append(vertex)
        path.append((vertex, iter(successors[vertex])))

    for start in range(len(successors)):
        if not index[start]:
            enter(start)
        while path:
            vertex, readers = path[-1]
            reader = next(readers, None)
            if reader is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[vertex])
                if low[vertex] == index[vertex]:
                    at = opened.index(vertex)
                    component, opened[at:] = opened[at:], []
                    for member in component:
                        is_open[member] = False
                    yield component
            elif not index[reader]:
                enter(reader)
            elif is_open[reader]:
                low[vertex] = min(low[vertex], index[reader])
