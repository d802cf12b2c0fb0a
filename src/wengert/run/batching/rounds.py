"""Rounds of an evaluation: regions that have run forward, the values in them, and their backward pass.

Knows: that a value is a row of a round until somebody asks for it by itself; that where launches fail, the nodes of a
round send their deltas one by one, which says whose failure it is.
Refuses to know: when rounds are made, and what waits for them; launches.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from operator import attrgetter
from typing import Any

from wengert.arrays import Value, all_quiet
from wengert.arrays.places import argsort, places
from wengert.arrays.rows import joined_rows, stacked, taken
from wengert.graph.node import Expression, Node
from wengert.graph.operation import EXTERNAL
from wengert.graph.order import below_all
from wengert.graph.template import PART
from wengert.run.batching.execution import Backward, RegionRun
from wengert.run.batching.region import RegionGraph
from wengert.run.batching.schedule import Place
from wengert.run.loops import backward, forward

serial = attrgetter("serial")
_FEW = 4  # rounds that are asked one after the other; a table of their nodes takes 0.1 us a node


class Round:
    """A region that has run forward."""

    def __init__(self, region: RegionRun, of: RegionGraph, roots: Sequence[Node]) -> None:
        self.region = region
        self.record = of
        self.roots = roots

    def place(self, x: Expression) -> Place | None:
        """The row of the value of `x`; None if it is not in this round."""
        code = self.record.code(x)
        return None if code is None else self.region.bound.schedule.place(code)


class Recorded(list[Node]):
    """Roots whose nodes have been recorded and have not run."""

    __slots__ = ("record",)

    def __init__(self, roots: Sequence[Node], of: RegionGraph) -> None:
        super().__init__(roots)
        self.record = of

    def opens(self) -> list[Node]:
        """The nodes whose values come from a `Do` that has not run."""
        entries = [e for e in self.record.groups if e.signature is not None and e.signature.mode == EXTERNAL]
        return [self.record.node(number) for e in entries for number in e.members.tolist()]


class Order(list[Node]):
    """Takes down single nodes where rounds stand as well, and stays empty: not all values are in one place."""

    __slots__ = ("timeline",)

    def __init__(self, timeline: list[Round | Node]) -> None:
        super().__init__()
        self.timeline = timeline

    def append(self, node: Node) -> None:
        self.timeline.append(node)

    def extend(self, nodes: Iterable[Node]) -> None:
        self.timeline.extend(nodes)


class Known:
    """The values of an evaluation, each by itself or as a row of a round."""

    def __init__(self, values: dict[Expression, Value]) -> None:
        self._values = values
        self._rounds: dict[Expression, Round] = {}  # of all their nodes
        self._new: list[Round] = []  # the last ones, whose nodes are not in that table yet
        self._parts: list[Round] = []  # with nodes that were not met one by one
        self._newest = 0  # serial of all their nodes

    def close(self) -> None:
        """Let go of all rounds, which hold this (S13)."""
        self._rounds.clear()
        self._new.clear()
        self._parts.clear()

    @property
    def rounds(self) -> bool:
        """Whether there are any rounds."""
        return len(self._rounds) + len(self._new) > 0

    def add(self, of: Round) -> None:
        """One more round."""
        self._new.append(of)
        self._newest = max(self._newest, int(of.record.serials[-1]))
        if not of.record.complete:
            self._parts.append(of)

    def __contains__(self, x: object) -> bool:
        if x in self._values:
            return True
        if not isinstance(x, Node):
            return False
        made = x.operands[0] if x.signature.operation is PART else x  # what a cell gave is as old as the cell
        return made.serial <= self._newest and self._found(x) is not None

    def __getitem__(self, x: Expression) -> Value:
        """Its value, which from now on it has by itself."""
        if x not in self._values:
            found = self._found(x)
            assert found is not None, "asked of known expressions only"
            of, place = found
            self._values[x] = of.region.value(place)
        return self._values[x]

    def stacked(self, given: Sequence[Any]) -> Value:  # Any: literals, and nodes whose values are known
        """All values as one table; of those that are rows of another one nobody is looked at by itself."""
        groups: dict[tuple[RegionRun, int] | None, tuple[list[int], list[Any]]] = {}  # Any: values, and rows
        for i, x in enumerate(given):
            key, value = self._row(x)
            at, values = groups.setdefault(key, ([], []))
            at.append(i)
            values.append(value)
        pieces = [
            stacked(values) if key is None else taken(key[0].tables[key[1]], places(values))
            for key, (_, values) in groups.items()
        ]
        if len(pieces) == 1:
            return pieces[0]
        order = [i for at, _ in groups.values() for i in at]
        return taken(joined_rows(pieces), argsort(places(order)))

    def _row(self, x: Any) -> tuple[tuple[RegionRun, int] | None, Any]:  # Any: as above
        """In which table it is which row, or no table and the value."""
        if not isinstance(x, Expression):
            return None, x
        found = self._found(x) if x not in self._values else None
        if found is None or found[0].region.bound.schedule.tables[found[1][0]].loose:
            return None, self[x]
        of, (table, row) = found
        return (of.region, table), row

    def settle(self) -> None:
        """Put the nodes of rounds into one table, where there are more rounds than one asks one after the other.

        From then on, up to the next round, several threads may ask.
        """
        if len(self._new) > _FEW:
            for of in self._new:
                self._rounds.update(dict.fromkeys(of.record.codes, of))
            self._new.clear()

    def _found(self, x: Expression) -> tuple[Round, Place] | None:
        self.settle()
        of_x = self._met_in(x)
        if of_x is None and isinstance(x, Node) and x.signature.operation is PART:
            of_x = self._met_in(x.operands[0])
        for of in self._parts if of_x is None else (of_x,):
            place = of.place(x)
            if place is not None:
                return of, place
        return None

    def _met_in(self, x: Expression) -> Round | None:
        """The last round in which a node was met one by one."""
        for of in reversed(self._new):
            if x in of.record.codes:
                return of
        return self._rounds.get(x)


def sent_through(
    of: Round,
    known: Known,
    deltas: dict[Expression, Value],
    wanted: dict[Expression, Value],
    check: Callable[[], object],
    failures: list[Exception],
) -> dict[Expression, Value]:
    """Take the deltas that have arrived at rows of a round, run it backward, and give the deltas that leave it."""
    seeds = [(place, x) for x in deltas if (place := of.place(x)) is not None]
    if not seeds:
        return {}
    schedule = of.region.bound.schedule
    adding = any(schedule.surprised(place) for place, _ in seeds)
    sent = [(place, deltas.pop(x)) for place, x in seeds]
    try:
        with all_quiet():
            going = Backward(of.region, sent, adding)
            leaving = going.run(check)
    except Exception as failure:
        arrived: dict[Expression, Value] = {x: d for (_, x), (_, d) in zip(seeds, sent, strict=True)}
        return _sent_one_by_one(of, known, wanted, arrived, failure, failures)
    for x in wanted:
        place = of.place(x)
        if place is not None and (delta := going.delta(place)) is not None:
            wanted[x] = delta
    return leaving


def _sent_one_by_one(
    of: Round,
    known: Known,
    wanted: Container[Expression],
    deltas: dict[Expression, Value],
    failure: Exception,
    failures: list[Exception],
) -> dict[Expression, Value]:
    """Run a round backward node by node; failures are added to `failures`."""
    values: dict[Expression, Value] = {}
    for binding in of.region.bound.bindings:
        values |= {x: known[x] for x in binding.given if isinstance(x, Expression)}
        values |= {weight: known[weight] for _, weight in binding.weights}
    order = sorted(below_all(of.roots, values)[0], key=serial)
    found: list[Exception] = []
    with all_quiet():
        if forward(order, values, {}) < len(order) or any(x in wanted for x in order):
            found.append(failure)
        else:
            backward(order, values, deltas, found)
    failures += found
    return {} if found else deltas
