"""The nodes below an expression, in topological order, found without recursion.

Knows: that a node's serial is greater than its operands' serials, so that creation order is a topological one.
Refuses to know: what running a node means.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from operator import attrgetter
from typing import Final

from wengert.graph.node import Expression, Node
from wengert.graph.weights import Weight

PORTION: Final = (
    65_536  # bytes of values: it takes less time to let go of an array of so many than to make it
)
_serial = attrgetter("serial")
_kind = attrgetter("kind")


def below(
    root: Expression, known: Container[Expression], seen: set[Expression] | None = None
) -> tuple[list[Node], list[Weight]]:
    """The nodes and the weights under `root`, itself among them, that are not in `known`; nodes by serial.

    One pass with an explicit stack: linear in nodes and operands, whatever the fan-out. What has been `seen` under
    other roots is left out, and `seen` gets what is found.
    """
    if root in known or (seen is not None and root in seen):
        return [], []
    if isinstance(root, Weight):
        return [], [root]
    nodes: list[Node] = []
    weights: list[Weight] = []
    stack: list[Node] = [root]  # type: ignore[list-item] # an expression that is no weight is a node
    seen = set() if seen is None else seen
    seen.add(root)
    push, pop, see, take = stack.append, stack.pop, seen.add, nodes.append
    while stack:
        node = pop()
        take(node)
        operands = node.operands
        for index in node.signature.nodes:
            x = operands[index]
            if x not in seen and x not in known:
                see(x)
                if isinstance(x, Weight):
                    weights.append(x)
                else:
                    push(x)
    nodes.sort(key=_serial)
    return (_lately(nodes) if nodes[0].signature.operation.late else nodes), weights


def _lately(nodes: Sequence[Node]) -> list[Node]:
    """The nodes in another order: what is made of weights by a `late` operation stands before its first reader."""
    late: set[Expression] = set()
    done: set[Node] = set()
    order: list[Node] = []
    for node in nodes:
        inner = [node.operands[i] for i in node.signature.nodes]
        if node.signature.operation.late or (inner and late.issuperset(inner)):
            late.add(node)
            continue
        stack = [node]
        while stack:
            top = stack[-1]
            inner = [top.operands[i] for i in top.signature.nodes]
            waiting = [x for x in reversed(inner) if x in late and x not in done]
            if not waiting or top in done:
                order += [top] * (top not in done)
                done.add(stack.pop())
            stack += waiting
    return [*order, *(node for node in nodes if node in late and node not in done)]


def below_all(roots: Iterable[Expression], known: Container[Expression]) -> tuple[list[Node], list[Weight]]:
    """The nodes and weights under several roots that are not in `known`, each once: root by root, as `below`."""
    seen: set[Expression] = set()
    nodes: list[Node] = []
    weights: list[Weight] = []
    for root in roots:
        found, theirs = below(root, known, seen)
        nodes += found
        weights += theirs
    return nodes, weights


def last_readers(nodes: Sequence[Node], kept: Iterable[Expression] = ()) -> dict[Node, list[Node]]:
    """For each node those of `nodes` whose value nobody needs after it has read them, but for the `kept` ones."""
    last: dict[Expression, Node] = {node: node for node in nodes}
    for node in nodes:
        operands = node.operands
        for index in node.signature.nodes:
            if operands[index] in last:
                last[operands[index]] = node
    dying: dict[Node, list[Node]] = {}
    stay = set(kept)
    for node in nodes:
        if node not in stay:
            dying.setdefault(last[node], []).append(node)
    return dying


def is_bulky(nodes: Sequence[Node]) -> bool:
    """True if the values of `nodes` may take more than a portion."""
    return max((kind.nbytes for kind in set(map(_kind, nodes))), default=0) * len(nodes) > PORTION
