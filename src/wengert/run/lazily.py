"""What a node's rules are given, and deltas that are carried out only if somebody asks for them (D3).

Knows: that the delta for a tape that came from a `Do` is a sum of what several consumers would send, and whose
failure it is if one cannot.
Refuses to know: which node the tape belongs to, and whether anybody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wengert.arrays import Value, all_quiet
from wengert.graph.node import Expression, Node
from wengert.graph.operation import Rule, Signature
from wengert.run.notes import noted


def arguments_of(node: Node, signature: Signature, values: Mapping[Expression, Value]) -> tuple[Value, ...]:
    """The operands' values; a literal is its own."""
    nodes = signature.nodes
    return tuple(values[x] if i in nodes else x for i, x in enumerate(node._operands))


def pulled(pull: Rule, node: Node, g: Value, y: Value, arguments: tuple[Value, ...]) -> Value:
    """What the consumer `node` sends by one of its rules."""
    try:
        with all_quiet():
            return pull(g, y, *arguments)
    except Exception as failure:
        raise noted(failure, node, arguments, "backward of ") from None


def summed(thunks: list[Callable[[], Value]]) -> Value:
    """What all consumers send."""
    total = thunks[0]()
    for thunk in thunks[1:]:
        total = total + thunk()
    return total
