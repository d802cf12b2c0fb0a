"""Backward of one round: as launches, and if that fails, node by node, to say whose failure it is.

Knows: that a launch knows no node by name; what a round's deltas begin with, and who gets those that leave it.
Refuses to know: launches, and other rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from wengert.arrays import Value, all_quiet
from wengert.graph.node import Expression, Node
from wengert.graph.order import below
from wengert.run.batching.execution import Backward
from wengert.run.batching.rounds import Either, Known, Round, serial
from wengert.run.loops import backward, forward

if TYPE_CHECKING:
    from wengert.run.batching.evaluation import Batching


def send_through(
    of: Round, evaluation: Batching, check: Callable[[], object], failures: list[Exception]
) -> None:
    """The deltas of one round, from those that have arrived at its rows."""
    deltas, wanted = evaluation.deltas, evaluation.wanted
    seeds = [(place, x) for x in deltas if (place := of.place(x)) is not None]
    if not seeds:
        return
    schedule = of.region.bound.schedule
    adding = any(schedule.surprised(place) for place, _ in seeds)
    sent = [(place, deltas.pop(x)) for place, x in seeds]
    try:
        with all_quiet():
            going = Backward(of.region, sent, adding)
            leaving = going.run(check)
    except Exception as failure:
        arrived: dict[Expression, Value] = {x: d for (_, x), (_, d) in zip(seeds, sent, strict=True)}
        for x, delta in _repeated(of, evaluation.known, wanted, arrived, failure, failures).items():
            evaluation.add(x, delta)
        return
    for x in wanted:
        place = of.place(x)
        if place is not None and (delta := going.delta(place)) is not None:
            wanted[x] = delta
    with all_quiet():
        for x, delta in leaving.items():
            evaluation.add(x, delta)


def _repeated(
    of: Round,
    known: Known,
    wanted: Container[Expression],
    deltas: dict[Expression, Value],
    failure: Exception,
    failures: list[Exception],
) -> dict[Expression, Value]:
    """The deltas of a round node by node, from those that have arrived; failures are added to `failures`."""
    values: dict[Expression, Value] = {}
    nodes: dict[Node, None] = {}
    for binding in of.region.bound.bindings:
        values |= {x: known[x] for x in binding.given if isinstance(x, Expression)}
        values |= {weight: known[weight] for _, weight in binding.weights}
    for root in of.roots:
        nodes |= dict.fromkeys(below(root, Either(nodes, values))[0])
    order = sorted(nodes, key=serial)
    found: list[Exception] = []
    with all_quiet():
        if forward(order, values, {}) < len(order) or any(x in wanted for x in order):
            found.append(failure)
        else:
            backward(order, values, deltas, found)
    failures += found
    return {} if found else deltas
