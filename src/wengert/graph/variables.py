"""Derivatives by constants: the graph made again with variables in the places of literals, so that deltas reach them.

Knows: that no delta is computed where no weight is below; that what does not depend on a replaced node stays itself,
so that a graph whose literal has been a variable once is that graph the next time, too.
Refuses to know: runs, and which derivative is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakValueDictionary

from wengert.graph.kinds import Kind, Role, with_family, with_role
from wengert.graph.node import Expression, Node, new_node
from wengert.graph.operation import UNRESOLVED, Operation, Rules, Signature
from wengert.graph.order import below
from wengert.graph.template import PART, CellSignature, Template

VARIABLE: Final = Operation(
    "variable",
    Rules(
        lambda kinds: kinds[0],
        lambda case, x: x,
        (lambda case, g, y, x: g,),  # where it is made again for a variable below it
        batch=lambda batch, x: batch.again(x),
        variable=True,
        pure=True,
    ),
)
# by the identity of what each holds
_variables: Final[WeakValueDictionary[int, Node]] = WeakValueDictionary()
_signatures: Final[WeakKeyDictionary[CellSignature, dict[tuple[Kind, ...], CellSignature]]] = (
    WeakKeyDictionary()
)


class Substitution:
    """Other expressions in the places of some; a node above one of them is made again, once, where it was written.

    >>> from wengert import lift
    >>> x = lift(2.0)
    >>> Substitution({x: lift(5.0)})(x * x + 1.0).predict().run()
    26.0
    """

    # Any: as a dictionary's key, any class of expressions
    def __init__(self, changes: Mapping[Any, Expression] | None = None) -> None:
        self._made: dict[Expression, Expression] = {}
        for x, new in (changes or {}).items():
            self.put(x, new)

    def __contains__(self, x: object) -> bool:
        return x in self._made

    def __call__(self, root: Expression) -> Expression:
        for node in below(root, self._made)[0]:
            self._made[node] = self._again(node)
        return self._made.get(root, root)

    def variable(self, x: Expression) -> Expression:
        """Put `x` made again in its own place from now on, or a variable of its value where no delta would come."""
        new = self(x)
        if not new.kind.trainable:
            self.put(x, new := _variable(new))
        return new

    def again(self, node: Node) -> Node:
        """The node in the place of one that no weight replaces."""
        found = self(node)
        assert isinstance(found, Node), "only what is changed becomes a weight"
        return found

    def put(self, x: Expression, new: Expression) -> None:
        """Put an expression, as it is, in the place of another from now on."""
        self._made[x] = self._made[new] = new

    def _again(self, node: Node) -> Node:
        signature, operands = node.signature, list(node.operands)
        kinds = list(signature.kinds)
        for i in signature.nodes:
            operands[i] = new = self._made.get(operands[i], operands[i])
            if new is not node.operands[i]:
                kinds[i] = _stated(kinds[i], new.kind)
        if all(x is y for x, y in zip(operands, node.operands, strict=True)):
            return node
        signature = _part_of(signature, operands[0]) or _of_kinds(signature, tuple(kinds))
        kind = _stated(node.kind, signature.kind)
        return new_node(type(node), kind, signature, tuple(operands), node.code, node.offset)


def by_variables(
    loss: Expression, targets: tuple[Expression, ...]
) -> tuple[Expression, tuple[Expression, ...], Substitution | None]:
    """A loss and targets that deltas reach, and what has been put in whose place; None if they do by themselves."""
    if all(x.kind.trainable for x in targets):
        return loss, targets, None
    made = Substitution()
    # one may be below another
    for x in sorted(targets, key=lambda x: x.serial if isinstance(x, Node) else 0):
        made.variable(x)
    return made(loss), tuple(map(made, targets)), made


def _variable(x: Expression) -> Node:
    """The variable of a constant, one while it is in use."""
    made = _variables.get(id(x))
    if made is None:
        signature = VARIABLE.signature((x.kind,), ())
        made = new_node(signature.cls, signature.kind, signature, (x,), x.code, x.offset)
        made = _variables.setdefault(id(x), made)
    return made


def _stated(of: Kind, new: Kind) -> Kind:
    """A kind with the role of a new one, and with its shape and dtype where these were left open."""
    role = with_role(of, new.role)
    return role if of.known or not new.known else with_family(new, of.family)


def _part_of(signature: Signature, whole: Any) -> Signature | None:  # Any: an operand
    """The signature of a part of what a call of a cell gives; None for any other operation."""
    if signature.operation is not PART or not isinstance(whole.signature, CellSignature):
        return None
    index = dict(signature.attributes)["index"]
    of = whole.signature.template.kinds[index]
    return PART.signature((whole.kind,), (("index", index), ("of", of)))


def _of_kinds(signature: Signature, kinds: tuple[Kind, ...]) -> Signature:
    """A signature for operands that differ in their roles, or whose shapes are known now."""
    if kinds == signature.kinds:
        return signature
    resolved = signature.mode == UNRESOLVED and all(of.known for of in kinds)
    if not isinstance(signature, CellSignature) or resolved:
        return signature.operation.signature(kinds, signature.attributes)
    known = _signatures.setdefault(signature, {})
    if kinds not in known:
        template = signature.template
        cls: Callable[..., CellSignature] = type(signature)  # as its base makes it
        given = kinds[: template.given]
        known[kinds] = cls(signature.operation, given, _traced_again(template, kinds), signature.attributes)
    return known[kinds]


def _traced_again(template: Template, kinds: tuple[Kind, ...]) -> Template:
    """The template for such operands; recursion is as deep as cells call each other."""
    changes: dict[Node, Node] = {}
    for x, of in zip(template.parameters, kinds, strict=False):
        stated = _stated(x.kind, with_role(of, Role.CONSTANT) if of.role is Role.LITERAL else of)
        if x.kind is not stated:
            changes[x] = new_node(type(x), stated, x.signature, x.operands, x.code, x.offset)
    made = Substitution(changes)
    return replace(
        template,
        parameters=tuple(changes.get(x, x) for x in template.parameters),
        nodes=[made.again(x) for x in template.nodes],
        results=tuple(map(made, template.results)),
    )
