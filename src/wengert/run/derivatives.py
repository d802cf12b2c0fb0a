"""The derivatives of a loss as expressions: the rules of all nodes below it, applied once to symbols.

Knows: that reverse order of creation lets every node's rules be applied once, to its whole delta; that only
what leads to a target is walked; that a call of a cell is what its nodes are; that what only a run makes
known, a `Do` or an open kind, has no derivative before it.
Refuses to know: operations by name, formulas, and who runs what comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from wengert.arrays import dtype_of, is_array
from wengert.errors import NotDifferentiableError
from wengert.graph.apply import apply
from wengert.graph.node import Expression, Node, next_serial
from wengert.graph.operand import LITERAL, lift_any
from wengert.graph.operation import EXTERNAL, UNRESOLVED, Case, Rule, Signature
from wengert.graph.order import below
from wengert.graph.template import PARAMETER
from wengert.graph.weights import Weight
from wengert.run.inlined import Inlined
from wengert.site import user_position
from wengert.symbolic import Symbol, Symbolic, constant, fitted

Pulls = tuple[tuple[int, Rule], ...]


def derivatives(loss: Expression, targets: Sequence[Expression]) -> tuple[Expression, ...]:
    """The delta of each target for a delta of 1 at `loss`, as an expression; zeros where it does not depend.

    Raises NotDifferentiableError where only a run tells what is between them, and for a rule that needs values.
    """
    walk = _Walk(loss, targets)
    walk.backward()
    return tuple(map(walk.found, targets))


class _Walk:
    """The nodes below a loss, last first, and the deltas that have arrived."""

    def __init__(self, loss: Expression, targets: Sequence[Expression]) -> None:
        self.targets = targets
        self.inlined = Inlined(below(loss, frozenset())[0])
        self.at = self.inlined.of
        self.unknown: set[Node] = set()  # where a delta may pass, to what only a run tells
        self.wanted: set[Expression] = set(map(self.at, targets))  # targets, and what leads to one
        for node in self.inlined.nodes:
            self._lead(node)
        self.deltas: dict[Expression, Symbol] = {}
        self.pulls: dict[Signature, Pulls] = {}
        if self.at(loss) in self.wanted:
            self.deltas[self.at(loss)] = constant(1.0, _known(loss, "the loss").kind)

    def _lead(self, node: Node) -> None:
        """Decide whether a delta of `node` goes on to a target, or may."""
        signature = node.signature
        if _is_open(node):
            trainable = (i for i in signature.nodes if signature.kinds[i].trainable)
            if signature.mode == EXTERNAL:
                leads = node not in self.behind
            else:
                leads = any(self.at(node.operands[i]) in self.wanted for i in trainable)
            if leads:
                self.unknown.add(node)
        else:
            leads = any(self.at(node.operands[i]) in self.wanted for i, _ in signature.pulls)
        if leads:
            self.wanted.add(node)

    @cached_property
    def behind(self) -> set[Node]:
        """Nodes that every target depends on: it cannot have one of them inside."""
        return (
            set.intersection(*(set(below(x, frozenset())[0]) for x in self.targets))
            if self.targets
            else set()
        )

    def backward(self) -> None:
        """Apply the rules of every node that has a delta, once each."""
        for node in reversed(self.inlined.nodes):
            g = self.deltas.get(node)
            if g is None:
                continue
            if node in self.unknown:
                raise NotDifferentiableError(_too_early(node))
            if not _is_open(node):
                self._send(node, g)

    def _send(self, node: Node, g: Symbol) -> None:
        before, arguments = _Before(next_serial()), list(map(_symbol, node.operands))
        for index, pull in self._pulls_of(node.signature):
            x = self.at(node.operands[index])
            if x not in self.wanted:
                continue
            try:
                delta = fitted(pull(g, Symbol(node), *arguments), x.kind)
                self.deltas[x] = delta = self.deltas[x] + delta if x in self.deltas else delta
            except Exception as error:
                raise NotDifferentiableError(_needs_values(node, error)) from error
            made, _ = below(delta.x, before)
            for each in made:  # who asks where it was built means the operation whose derivative it is
                each.code, each.offset = node.code, node.offset

    def _pulls_of(self, signature: Signature) -> Pulls:
        """The derivative rules, bound to the functions of expressions."""
        found = self.pulls.get(signature)
        if found is None:
            case = Case(signature.kinds, signature.kind)
            case.xp = Symbolic(signature.kind.device)
            found = self.pulls[signature] = signature.bound_to(case, lazily=False)[1]
        return found

    def found(self, target: Expression) -> Expression:
        """Sum of the deltas that have arrived at one target, as a layer."""
        delta = self.deltas.get(self.at(target))
        if delta is None:
            delta = constant(0.0, _known(target, "a target without a derivative").kind)
        x = delta.x
        layer: Expression = x if isinstance(x, Node) else apply(LITERAL, (x,))
        return layer


class _Before:
    """Collection of the nodes made before a serial was given out, for `below`."""

    def __init__(self, serial: int) -> None:
        self._serial = serial

    def __contains__(self, x: object) -> bool:
        return isinstance(x, Weight) or (isinstance(x, Node) and x.serial < self._serial)


def _is_open(node: Node) -> bool:
    """Tell whether only a run resolves a node; a cell's parameter is known while it is traced."""
    mode = node.signature.mode
    return mode == UNRESOLVED or (mode == EXTERNAL and node.signature.operation is not PARAMETER)


def _symbol(x: Any) -> Any:  # Any: an operand
    """An operand as rules meet it; numbers, masks and indices are what they are."""
    if isinstance(x, Expression):
        return Symbol(x)
    return Symbol(lift_any(x)) if is_array(x) and dtype_of(x).kind == "f" else x


def _known(x: Expression, what: str) -> Expression:
    if x.kind.shape is None or x.kind.dtype is None:
        raise NotDifferentiableError(
            f"gradients(...).layers: the shape of {what}, {x!r}, is known only in the run; state it in the "
            f"annotation of what makes it, or ask `gradients(...).run()`\n  at {user_position()}"
        )
    return x


def _too_early(node: Node) -> str:
    return (
        f"gradients(...).layers: what is behind {node!r} is known only in the run, so no derivative can pass it "
        f"before; write stop_gradient(...) around it where none has to, else ask `gradients(...).run()`\n"
        f"  at {user_position()}"
    )


def _needs_values(node: Node, error: Exception) -> str:
    name = node.signature.operation.name
    return (
        f"gradients(...).layers: the derivative of {name} cannot be made an expression: {error}; write its rule "
        f"with operators and functions of `case.xp`, without asking for values\n"
        f"  {name} was built at {node.site}\n"
        f"  at {user_position()}"
    )
