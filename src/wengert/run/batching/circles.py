"""Graphs of groups: in which order they can run, and which of them are in a circle.

Knows: that there are few groups however many nodes there are.
Refuses to know: what a group is.

Source: circles are found as strongly connected components: Tarjan 1972.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from wengert.arrays.places import Places, occurring


def needed_by(sources: Places, readers: Places, size: int) -> list[list[int]]:
    """For each group below `size` those that read it, from the groups at both ends of every edge."""
    pairs = occurring(sources * size + readers, size * size)
    found: list[list[int]] = [[] for _ in range(size)]
    for source, reader in zip((pairs // size).tolist(), (pairs % size).tolist(), strict=True):
        found[source].append(reader)
    return found


def order_of(needs: list[list[int]]) -> list[int] | None:
    """Every group after those that it reads; None where there is a circle."""
    missing = [0] * len(needs)
    for readers in needs:
        for reader in readers:
            missing[reader] += 1
    order = [group for group in range(len(needs)) if not missing[group]]
    for group in order:
        for reader in needs[group]:
            missing[reader] -= 1
            if not missing[reader]:
                order.append(reader)
    return order if len(order) == len(needs) else None


def circles_in(needs: list[list[int]]) -> list[int]:
    """The groups that need themselves, or each other."""
    return [
        group
        for component in _components(needs)
        for group in component
        if len(component) > 1 or group in needs[group]
    ]


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
