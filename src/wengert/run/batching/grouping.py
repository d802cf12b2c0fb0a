"""Which nodes run together, and in which order: the chain quotient of a graph.

Knows: that nodes of one entry with one count are independent; that where groups need each other in a circle, they
are split by depth, and only there.
Refuses to know: rows, operations, and values.

Source: fold.md, B4. Circles are found as strongly connected components: Tarjan 1972.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from wengert.arrays.places import Places, counted, cumulated, distinct, flags
from wengert.run.batching.counting import Counts
from wengert.run.batching.record import Record


def grouped(record: Record, counts: Counts) -> Places:
    """For each node the place of its group in the order of launches; -1 for what is inside a sum."""
    groups = flags(record.size, -1)
    most = int(counts.own.max()) + 1
    for number, entry in enumerate(record.entries):
        groups[entry.members] = number * most + counts.own[entry.members]
    groups = _numbered(groups)
    sources, readers = record.edges()
    needs = _needs(groups[sources], groups[readers])
    circles = _circles(needs, int(groups.max()) + 1)
    if circles:
        deepest = int(counts.depths.max()) + 1
        split = flags(int(groups.max()) + 1)
        split[circles] = True
        apart = (groups >= 0) & split[groups]
        groups = _numbered(groups * deepest + counts.depths * apart)
        needs = _needs(groups[sources], groups[readers])
    order = _order(needs, int(groups.max()) + 1)
    assert order is not None, "groups without circles have an order"
    place = flags(len(order), 0)
    place[order] = range(len(order))
    found = flags(len(groups), -1)
    inside = groups >= 0
    found[inside] = place[groups[inside]]
    return found


def _numbered(groups: Places) -> Places:
    """Numbers without gaps, in the same order; negative ones become -1."""
    size = int(groups.max()) + 1
    if size <= 4 * len(groups) + 64:
        numbers = cumulated((counted(groups[groups >= 0], size) > 0) * 1)
        return (numbers[groups] + 1) * (groups >= 0) - 1
    used, _ = distinct(groups[groups >= 0])
    return (used.searchsorted(groups) + 1) * (groups >= 0) - 1


def _needs(sources: Places, readers: Places) -> list[list[int]]:
    """For each group those that read it."""
    if not len(sources):
        return []
    size = int(max(sources.max(), readers.max())) + 1
    pairs, _ = distinct(sources * size + readers)
    found: list[list[int]] = [[] for _ in range(size)]
    for source, reader in zip((pairs // size).tolist(), (pairs % size).tolist(), strict=True):
        found[source].append(reader)
    return found


def _order(needs: list[list[int]], size: int) -> list[int] | None:
    """Every group after those that it reads; None where there is a circle."""
    missing = [0] * size
    for readers in needs:
        for reader in readers:
            missing[reader] += 1
    order = [group for group in range(size) if not missing[group]]
    for group in order:
        for reader in needs[group] if group < len(needs) else ():
            missing[reader] -= 1
            if not missing[reader]:
                order.append(reader)
    return order if len(order) == size else None


def _circles(needs: list[list[int]], size: int) -> list[int]:
    """The groups that need themselves by way of others."""
    if _order(needs, size) is not None:
        return []
    return [group for component in _components(needs) if len(component) > 1 for group in component]


def _components(needs: list[list[int]]) -> Iterator[list[int]]:
    """Groups that all reach each other, with a stack of our own (S8)."""
    index, low, is_open = [0] * len(needs), [0] * len(needs), [False] * len(needs)
    opened: list[int] = []
    path: list[tuple[int, Iterator[int]]] = []
    numbers = count(1)

    def enter(group: int) -> None:
        index[group] = low[group] = next(numbers)
        is_open[group] = True
        opened.append(group)
        path.append((group, iter(needs[group])))

    for start in range(len(needs)):
        if not index[start]:
            enter(start)
        while path:
            group, readers = path[-1]
            reader = next(readers, None)
            if reader is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[group])
                if low[group] == index[group]:
                    at = opened.index(group)
                    component, opened[at:] = opened[at:], []
                    for member in component:
                        is_open[member] = False
                    yield component
            elif not index[reader]:
                enter(reader)
            elif is_open[reader]:
                low[group] = min(low[group], index[reader])
