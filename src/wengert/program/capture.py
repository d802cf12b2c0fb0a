"""A graph as a list of operations on numbered slots: cells opened up, literals as inputs or constants.

Knows: nodes and their signatures.
Refuses to know: rules, array functions, and what anybody does with the list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from wengert.graph.node import Expression, Node
from wengert.graph.operation import CELL, Signature
from wengert.graph.template import PART, template_of

Operand = Any  # Any: a slot, or a literal of any type
_NONE: Final[Mapping[Node, Signature]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Slot:
    """The value with this number."""

    at: int


@dataclass(slots=True, eq=False)
class Op:
    """`out = operation(*inputs)`, on operands of known kinds; `node` is where a failure is reported.

    Without a signature a value is passed on, into the call of a cell or out of it: the deltas of one call are added up
    before they go to its operands.
    """

    signature: Signature | None
    inputs: tuple[Operand, ...]
    out: Slot
    node: Node


@dataclass(slots=True, eq=False)
class Operations:
    """A graph as a list: `inputs` are expressions and literals, `slots` where the value of an expression is."""

    inputs: list[tuple[Slot, Operand]] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    slots: dict[Expression, Any] = field(default_factory=dict)  # Any: a slot, or several of a cell's results
    found: list[Operand] = field(
        default_factory=list
    )  # the slots of all nodes but calls, those within calls included
    count: int = 0

    def slot(self) -> Slot:
        """A new slot."""
        self.count += 1
        return Slot(self.count - 1)

    def passed(self, x: Operand, node: Node) -> Operand:
        """A new slot for a value that is passed on."""
        self.ops.append(Op(None, (x,), made := self.slot(), node))
        return made

    def input(self, x: Operand) -> Slot:
        """A new slot for what comes from outside."""
        self.inputs.append((made := self.slot(), x))
        return made


Frame = tuple[Iterator[Node], dict[Expression, Any], Node | None]  # Any: as in `Operations.slots`


def capture(
    nodes: Iterable[Node],
    given: Iterable[Expression],
    literals: bool,
    resolved: Mapping[Node, Signature] = _NONE,
    before: Operations | None = None,
) -> Operations:
    """The operations of `nodes`, operands first; `given` are inputs, and outside of cells `literals` are, if asked.

    `resolved` are the signatures of nodes whose kinds were open. The list goes on from the one `before`, if there is.
    """
    made = Operations() if before is None else before
    made.slots |= {x: made.input(x) for x in given}
    frames: list[Frame] = [(iter(nodes), made.slots, None)]  # the calls of cells that are open: no recursion
    while frames:
        rest, table, call = frames[-1]
        node = next(rest, None)
        if node is None:
            frames.pop()
            if call is not None:
                template = template_of(resolved.get(call, call.signature))
                found = tuple(table[x] for x in template.results)
                frames[-1][1][call] = made.passed(found[0], call) if template.single else found
            continue
        signature = resolved.get(node, node.signature)
        outside = literals and len(frames) == 1
        inputs = tuple(
            table[x] if i in signature.nodes else made.input(x) if outside else x
            for i, x in enumerate(node.operands)
        )
        if signature.mode == CELL:
            template = template_of(signature)
            inside = list(inputs)
            for i in reversed(range(len(inputs))):  # way back: the delta of the first operand is sent first
                if signature.kinds[i].trainable:
                    inside[i] = made.passed(inputs[i], node)
            frames.append((iter(template.nodes), dict(zip(template.inputs, inside, strict=True)), node))
        elif signature.operation is PART and isinstance(inputs[0], tuple):  # the results of a cell
            table[node] = made.passed(inputs[0][dict(signature.attributes)["index"]], node)
            made.found.append(table[node])
        else:
            table[node] = made.slot()
            made.found.append(table[node])
            made.ops.append(Op(signature, inputs, table[node], node))
    return made
