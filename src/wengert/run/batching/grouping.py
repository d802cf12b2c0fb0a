"""Grouping of nodes into launches: which run together, and in topological order.

Knows: that nodes of one group whose longest chains hold equally many of their own group never need each other, so that
they can run together; that only groups in a cycle have chains; that launches which need each other in a cycle are split
by depth, or so that the groups of the cycle take turns, and only there; that there are few groups however many nodes
there are.
Refuses to know: rows, operations, and values.

Source: cycles are found as strongly connected components: Tarjan 1972.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, pairwise
from typing import Final

from wengert.arrays.places import (
    Flags,
    Places,
    argsort,
    concatenate,
    counted,
    cumulated,
    flags,
    greatest_of_runs,
    marked,
    occurring,
    places,
    ranges,
    span,
    spread,
    starts_of_runs,
    table,
)
from wengert.run.batching.region import Region, RowSource

_MOST: Final = 1 << 26  # counts in memory; a graph with more is grouped by depth
_GREATEST: Final = 1 << 60  # number of a turn
_MOST_COUNTS: Final = 8  # arrays that one subgraph remembers
_NARROW: Final = 8  # levels after which a graph of less than two nodes a level is one to run node by node


def grouped(region: Region) -> Places | None:
    """For each node the place of its launch in the order of launches; -1 for what is inside a sum.

    None for a graph so narrow that nothing would be gained.
    """
    counts = ChainCounts(region)
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

    `group`: of each node, -1 for what is inside a sum; `here`: whether that is in a cycle; and both ends of the edges.
    """

    def __init__(self, region: Region) -> None:
        self.region = region
        self.sources, self.readers = region.edges()
        self.group = flags(region.size, -1)
        for number, each in enumerate(region.groups):
            self.group[each.members] = number
        size = len(region.groups)
        successors = _readers_of(self.group[self.sources], self.group[self.readers], size)
        self._in_cycle = flags(size)
        self._cycles = [*_cycles(successors)]
        for cycle in self._cycles:
            self._in_cycle[cycle] = True
        # nodes that are computed and in no cycle: a chain whose nodes each read a literal is as narrow as without them
        self.besides = sum(
            len(g.members)
            for g, circular in zip(region.groups, self._in_cycle.tolist(), strict=True)
            if not circular and g.form.source is not RowSource.GIVEN
        )
        self._counts: list[Places] | None = None  # and depths
        self.here = self._in_cycle[self.group] & (self.group >= 0)
        self._memory = _Memory(region, self.group, self.here)
        self._made: _Levels | None = None

    def own(self) -> Places | None:
        """The count of each node; None for a graph so narrow that nothing would be gained."""
        if not self._cycles:
            return flags(self.region.size, 1)
        own, depths = self._found()
        return None if _narrow(_ends(depths[self.here]), self.besides) else own

    def depths(self) -> Places:
        """The depth of each node among the groups in cycles, 0 of others."""
        return self._found()[1]

    def turns(self) -> Places | None:
        """The turn of each node whose group is in a cycle, -1 of others; None where the numbers are too great.

        The groups of a cycle count like the digits of a number: a node has the greatest number of its operands with one
        more at the digit of its group, and 0 at all that come after. So every number is of one group, and greater than
        those that it needs. Groups that are met first have the first digits.
        """
        least, digits, cycles = int(self.depths().max()) + 2, max(map(len, self._cycles)), len(self._cycles)
        base = 1 << (least - 1).bit_length()  # one for batches of about the same depth
        if base**digits * cycles > _GREATEST:
            base = least
        if base**digits * cycles > _GREATEST:
            return None
        weights, cycle_of = flags(len(self.region.groups), 0), flags(len(self.region.groups), 0)
        for number, cycle in enumerate(self._cycles):
            cycle_of[cycle] = number
            weights[sorted(cycle)] = [base**i for i in range(len(cycle) - 1, -1, -1)]

        labels = weights * cycles + cycle_of
        known = self._memory.recall(cycles, labels, (-1,))
        if known is not None:
            return known[0]
        levels, turns = self._levels(), flags(self.region.size, -1)
        group = self.group[levels.nodes]
        turns[levels.nodes] = levels.turns(weights[group], cycle_of[group]) * cycles + cycle_of[group]
        self._memory.keep(cycles, labels, (turns,))
        return turns

    def _found(self) -> Sequence[Places]:
        """The count of each node, and its depth."""
        if self._counts is None:
            columns, name = cumulated(self._in_cycle * 1)[1:] * self._in_cycle, "count and depth"
            self._counts = self._memory.recall(name, columns, (1, 0))
            if self._counts is None:
                levels, size = self._levels(), self.region.size
                own, depths = self._counts = [flags(size, 1), flags(size, 0)]
                own[levels.nodes], depths[levels.nodes] = levels.own, levels.depths
                if levels.counted:
                    self._memory.keep(name, columns, self._counts)
        return self._counts

    def _levels(self) -> _Levels:
        if self._made is None:
            self._made = _Levels(self, self._in_cycle)
        return self._made


class _Memory:
    """Numbers of nodes that follow from what is below these, for each way in which groups are labelled.

    Each subgraph remembers those of its own nodes, in whatever batch it is. Groups in no cycle have the label 0.
    """

    def __init__(self, region: Region, group: Places, here: Places) -> None:
        self.size = region.size
        here_met = bool(region.subgraphs) and here[region.ranks[: len(region.met)]].any()
        self.subgraphs = () if here_met else region.subgraphs
        if not self.subgraphs:
            return
        ends = cumulated(places([len(subgraph.serials) for subgraph in self.subgraphs]))
        counts = places([len(subgraph.leads) for subgraph in self.subgraphs])
        leads = concatenate([subgraph.leads for subgraph in self.subgraphs]) + spread(ends[:-1], counts)
        self.nodes = region.numbers_below()
        self.ends: list[int] = ends.tolist()
        self.parts: list[int] = cumulated(counts).tolist()
        self.group = group[self.nodes[leads]]  # of each part of each subgraph

    def recall(self, name: object, labels: Places, others: Sequence[int]) -> list[Places] | None:
        """Numbers of all nodes, an array for each of `others`, which are those of nodes in no subgraph."""
        if not self.subgraphs:
            return None
        keys = self._keys(name, labels)
        known = [subgraph.counts.get(key) for subgraph, key in zip(self.subgraphs, keys, strict=True)]
        remembered = [x for x in known if x is not None]
        if len(remembered) < len(known):
            return None
        found = []
        for other, parts in zip(others, zip(*remembered, strict=True), strict=True):
            numbers = flags(self.size, other)
            numbers[self.nodes] = concatenate(parts)
            found.append(numbers)
        return found

    def keep(self, name: object, labels: Places, found: Sequence[Places]) -> None:
        """Have each subgraph remember these numbers of its nodes."""
        if not self.subgraphs:
            return
        spans = zip(self.subgraphs, self._keys(name, labels), pairwise(self.ends), strict=True)
        for subgraph, key, (start, stop) in spans:
            if len(subgraph.counts) >= _MOST_COUNTS:
                subgraph.counts.clear()
            nodes = self.nodes[start:stop]
            subgraph.counts[key] = [numbers[nodes] for numbers in found]

    def _keys(self, name: object, labels: Places) -> list[object]:
        of = labels[self.group]
        return [(name, of[start:stop].tobytes()) for start, stop in pairwise(self.parts)]


class _Levels:
    """The nodes of groups that are in a cycle, level by level, as if there were no others."""

    def __init__(self, counts: ChainCounts, in_cycle: Places) -> None:
        group, here = counts.group, counts.here
        self.nodes = marked(here)
        size, columns = len(self.nodes), int(in_cycle.sum())
        number = flags(len(group), 0)
        number[self.nodes] = span(0, size)
        both = here[counts.sources] & here[counts.readers]
        sources, readers = number[counts.sources[both]], number[counts.readers[both]]
        if columns > 1:  # edges of one group are in the order of their readers
            order = argsort(readers)
            sources, readers = sources[order], readers[order]
            once = starts_of_runs(readers * size + sources)  # results of one cell are one operand
            sources, readers = sources[once], readers[once]
        self.sources, self.readers = sources, readers
        self.depths = _depths(sources, readers, size)
        ends = _ends(self.depths)
        self.own = self.depths + 1
        self.counted = size * columns <= _MOST and not _narrow(ends, counts.besides)
        if self.counted and columns > 1:  # else all nodes of a chain are of one group
            order = argsort(self.depths)
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
    found: list[list[int]] = [[] for _ in range(size)]
    for pair in occurring(sources * size + readers, size * size).tolist():
        found[pair // size].append(pair % size)
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
    itself = [vertex for vertex, readers in enumerate(successors) if vertex in readers]
    others = [[reader for reader in readers if reader != vertex] for vertex, readers in enumerate(successors)]
    if _topological(others) is not None:  # as of most graphs, without a search for components
        yield from ([vertex] for vertex in itself)
        return
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
