"""Calls of cells opened up: the nodes of their templates in their place, on the operands of the call.

Knows: that nodes are immutable, so that what is inside a call has to be made again for each call, while what is
outside stays as it is and has its value from the call.
Refuses to know: what anybody does with the nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from wengert.arrays import dtype_of, is_array
from wengert.graph.kinds import Role, with_role
from wengert.graph.node import Expression, Node, new_node
from wengert.graph.operand import lift_any
from wengert.graph.operation import CELL
from wengert.graph.template import PART, template_of


@dataclass(slots=True)
class _Frame:
    """The nodes of one call, and what stands for those that are done: no recursion, however deep calls nest."""

    nodes: Iterator[Node]
    stands: dict[Expression, Any]  # Any: expressions, and arrays of integers
    call: Node | None = None
    results: dict[Expression, tuple[Any, ...]] = field(default_factory=dict)  # of the calls within it


class Inlined:
    """`nodes`, operands first, among them no call of a cell; `of` says which of them a delta goes to."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes: list[Node] = []
        outside = _Frame(iter(nodes), {})
        self._stands = outside.stands
        frames = [outside]
        while frames:
            frame = frames[-1]
            node = next(frame.nodes, None)
            if node is None:
                frames.pop()
                self._leave(frame, frames)
            elif node.signature.mode == CELL:
                frames.append(_entered(frame, node))
            elif node.signature.operation is PART and node.operands[0] in frame.results:
                index = dict(node.signature.attributes)["index"]
                frame.stands[node] = frame.results[node.operands[0]][index]
            elif frame is outside:
                self.nodes.append(node)
            else:
                self.nodes.append(made := _copied(node, frame))
                frame.stands[node] = made

    def of(self, x: Expression) -> Expression:
        """Stand-in for `x`: of a call of a cell, or of a part of it, the node that makes that value."""
        found: Expression = self._stands.get(x, x)
        return found

    @staticmethod
    def _leave(frame: _Frame, outer: list[_Frame]) -> None:
        if frame.call is None:
            return
        template, around = template_of(frame.call.signature), outer[-1]
        inside = (frame.stands.get(x, x) for x in template.results)
        results = tuple(around.stands.get(x, x) for x in inside)  # a call may give back what another one gave
        if template.single:
            around.stands[frame.call] = results[0]
        else:
            around.results[frame.call] = results


def _entered(frame: _Frame, call: Node) -> _Frame:
    template = template_of(call.signature)
    operands = _operands(call, frame)
    return _Frame(iter(template.nodes), dict(zip(template.inputs, map(_within, operands), strict=True)), call)


def _within(x: Any) -> Any:  # Any: an operand of a call
    """An operand where the template has a node; indices, which make no layer, are what they are."""
    return x if is_array(x) and dtype_of(x).kind in "iu" else lift_any(x)


def _operands(node: Node, frame: _Frame) -> list[object]:
    given = node.signature.nodes
    # outside, a call keeps its value: what is made of it there needs no copy
    stands = frame.stands if frame.call is not None else {}
    return [stands.get(x, x) if i in given else x for i, x in enumerate(node.operands)]


def _copied(node: Node, frame: _Frame) -> Node:
    operands, signature = tuple(_operands(node, frame)), node.signature
    literals = [i for i in signature.nodes if not isinstance(operands[i], Expression)]
    if literals:
        kinds = [with_role(k, Role.LITERAL) if i in literals else k for i, k in enumerate(signature.kinds)]
        signature = signature.operation.signature(tuple(kinds), signature.attributes)
    return new_node(type(node), node.kind, signature, operands, node.code, node.offset)
