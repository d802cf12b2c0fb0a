"""Kinds that only a run tells, told before it goes on: what binds have given is known when their readers are recorded.

Knows: that the kind of a node follows from its operands' kinds, in the order of serials.
Refuses to know: values of nodes that have not run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wengert.errors import WengertError
from wengert.graph.kinds import Kind
from wengert.graph.node import Node
from wengert.graph.operation import UNRESOLVED, Signature


def resolved(
    nodes: list[tuple[int, Node, list[int]]], kind_at: Callable[[int, Mapping[int, Signature]], Kind]
) -> dict[int, Signature]:
    """By number the signatures of nodes, given as number, node and codes of operands, whose kinds are now known.

    `kind_at` tells the kind at a code by the signatures that have been found so far.
    """
    found: dict[int, Signature] = {}
    for number, node, codes in sorted(nodes, key=lambda one: one[1].serial):
        signature = node.signature
        rows = iter(codes)
        kinds = []
        for index, of in enumerate(signature.kinds):
            own = index in signature.nodes and isinstance(node.operands[index], Node)
            code = next(rows) if own else -1
            if own and not of.known:
                of = kind_at(code, found)
            kinds.append(of)
        if not all(of.known for of in kinds):
            continue
        try:
            made = signature.operation.signature(tuple(kinds), signature.attributes)
        except WengertError:
            continue  # it fails by itself, where it can say on what
        if made.mode != UNRESOLVED:
            found[number] = made
    return found
