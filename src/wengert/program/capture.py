"""A graph as a list of operations on numbered slots: cells opened up, literals as inputs or constants.

Knows: nodes and their signatures.
Refuses to know: rules, array functions, and what anybody does with the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from wengert.graph.node import Expression, Node
from wengert.graph.operation import CELL, Signature
from wengert.graph.template import PART, template_of

Operand = Any  # Any: a slot, or a literal of any type


@dataclass(frozen=True, slots=True)
class Slot:
    """The value with this number."""

    at: int


@dataclass(slots=True, eq=False)
class Op:
    """`out = operation(*inputs)`, on operands of known kinds; `node` is where a failure is reported."""

    signature: Signature
    inputs: tuple[Operand, ...]
    out: Slot
    node: Node


@dataclass(slots=True, eq=False)
class Operations:
    """A graph as a list: `inputs` are expressions and literals, `slots` where the value of an expression is."""

    inputs: list[tuple[Slot, Operand]] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    slots: dict[Expression, Any] = field(default_factory=dict)  # Any: a slot, or several of a cell's results
    count: int = 0

    def slot(self) -> Slot:
        """A new slot."""
        self.count += 1
        return Slot(self.count - 1)

    def input(self, x: Operand) -> Slot:
        """A new slot for what comes from outside."""
        self.inputs.append((made := self.slot(), x))
        return made


Frame = tuple[Iterator[Node], dict[Expression, Any], Node | None]  # Any: as in `Operations.slots`


def capture(nodes: Sequence[Node], given: Sequence[Expression], literals: bool) -> Operations:
    """The operations of `nodes`, operands first; `given` are inputs, and outside of cells `literals` are, if asked."""
    made = Operations()
    made.slots = {x: made.input(x) for x in given}
    frames: list[Frame] = [(iter(nodes), made.slots, None)]  # the calls of cells that are open: no recursion
    while frames:
        rest, table, call = frames[-1]
        node = next(rest, None)
        if node is None:
            frames.pop()
            if call is not None:
                template = template_of(call.signature)
                found = tuple(table[x] for x in template.results)
                frames[-1][1][call] = found[0] if template.single else found
            continue
        signature = node.signature
        outside = literals and len(frames) == 1
        inputs = tuple(
            table[x] if i in signature.nodes else made.input(x) if outside else x
            for i, x in enumerate(node.operands)
        )
        if signature.mode == CELL:
            template = template_of(signature)
            frames.append((iter(template.nodes), dict(zip(template.inputs, inputs, strict=True)), node))
        elif signature.operation is PART:
            several: Any = inputs[0]  # Any: the results of a cell
            table[node] = several[dict(signature.attributes)["index"]]
        else:
            table[node] = made.slot()
            made.ops.append(Op(signature, inputs, table[node], node))
    return made
