"""A round again, node by node: when its backward has failed, to say whose failure it is.

Knows: the ordinary loops, and that a launch knows no node by name.
Refuses to know: launches.
"""

from __future__ import annotations

from collections.abc import Container

from wengert.arrays import Value, all_quiet
from wengert.graph.node import Expression, Node
from wengert.graph.order import below
from wengert.run.batching.rounds import Either, Known, Round, serial
from wengert.run.loops import backward, forward


def repeated(
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
