"""Which nodes somebody may still build on or ask for, so that their values stay: none is computed twice.

Knows: that a node which only computed nodes refer to cannot be met again, and that Python counts references; that a
reference which nobody expects means that the value stays; that no two nodes share a tuple of operands.
Refuses to know: values, and when they are asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from sys import getrefcount
from typing import Final
from weakref import getweakrefcount

from wengert.graph.node import Expression, Node


class Reach:
    """The nodes of one evaluation that others than its computed nodes referred to when they were computed.

    Between two looks the number of such nodes grows by half, so that all looks together take linear time.
    """

    __slots__ = ("_counted", "_enough", "_met", "_readers", "_times")

    def __init__(self) -> None:
        self._times: dict[Node, int] = {}  # how often a node stands in the order of evaluation
        self._readers: Counter[Expression] = Counter()  # the operands of the nodes in that order
        self._met: set[Node] = set()  # of that order
        self._counted = 0  # so many of these
        self._enough = 1

    def held(self, nodes: list[Node]) -> list[Node]:
        """Find the `nodes`, about to be computed, that others than the list and they themselves refer to."""
        uses = Counter(node.operands[i] for node in nodes for i in node.signature.nodes)
        found = [
            node
            for node, count in zip(nodes, _references(nodes), strict=True)
            if count > _ALONE + uses[node] + (node in uses) or getweakrefcount(node)
        ]
        self._times.update(dict.fromkeys(found, 0))
        return found

    def left(self, order: Sequence[Node]) -> list[Node]:
        """Nodes found so far that only computed nodes refer to by now; `order` has all of these.

        The caller has each in one table.
        """
        times, readers = self._times, self._readers
        if len(times) < self._enough:
            return []
        self._count(order)
        nodes = list(times)
        found = [
            x
            for x, count in zip(nodes, _references(nodes), strict=True)
            if times[x]
            and count <= _ALONE + 3 + times[x] + readers[x] + (x in readers)
            and not getweakrefcount(x)
        ]
        for x in found:
            del times[x]
        self._enough = len(times) + len(times) // 2 + 1
        return found

    def _count(self, order: Sequence[Node]) -> None:
        for node in order[self._counted :]:
            if node in self._times:
                self._times[node] += 1
            if node not in self._met:
                self._met.add(node)
                self._readers.update(node.operands[i] for i in node.signature.nodes)
        self._counted = len(order)


def _references(nodes: list[Node]) -> list[int]:
    return list(map(getrefcount, nodes))


_ALONE: Final = _references([object()])[0]  # type: ignore[list-item] # any object: it differs between Pythons
