"""The derivatives of a loss as expressions: the rules of all nodes below it, applied once to symbols.

Knows: that reverse order of creation lets every node's rules be applied once, to its whole delta; that only
what leads to a target is walked; that a call of a cell is what its nodes are; that what only a run makes
known, a `Do` or an open kind, has no derivative before it.
Refuses to know: operations by name, formulas, and who runs what comes out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from wengert.arrays import dtype_of, is_array
from wengert.errors import NotDifferentiableError
from wengert.graph.apply import apply
from wengert.graph.kinds import Role, with_role
from wengert.graph.node import Expression, Node, new_node, next_serial
from wengert.graph.operand import LITERAL, lift_any
from wengert.graph.operation import EXTERNAL, UNRESOLVED, Case, Signature
from wengert.graph.order import below
from wengert.graph.template import PARAMETER, PART
from wengert.graph.weights import Weight
from wengert.program.derive import Op, Slot, capture, reverse
from wengert.run.ask import UndecidedError
from wengert.run.loops import accumulate, operand_deltas
from wengert.site import user_position
from wengert.symbolic import Symbol, Symbolic, constant, fitted


def derivatives(who: str, loss: Expression, targets: Sequence[Expression]) -> tuple[Expression, ...]:
    """The delta of each target for a delta of 1 at `loss`, as an expression; zeros where it does not depend.

    `who` asks, in the words of an error.
    Raises NotDifferentiableError where only a run tells what is between them, and for a rule that needs values.
    """
    try:
        walk = _Walk(loss, targets)
        walk.backward()
        return tuple(map(walk.found, targets))
    except _Unknown as error:
        instead = ", or ask `gradients(...).run()`" if who.startswith("gradients") else ""
        text = f"{who}: {error}{instead}\n  at {user_position()}"
        cls = UndecidedError if isinstance(error, _Unresolved) else NotDifferentiableError
        raise cls(text) from error.__cause__


class _Unknown(Exception):
    """A reason for which a derivative is no expression."""


class _Unresolved(_Unknown):
    """One that a run takes away."""


class _Walk:
    """The operations below a loss, last first, and the deltas that have arrived."""

    def __init__(self, loss: Expression, targets: Sequence[Expression]) -> None:
        self.targets = targets
        nodes, weights = below(loss, frozenset())
        self.operations = operations = capture(nodes, weights, literals=False)
        slots = self.slots = operations.slots
        self.outside = {slots[x]: x for x in (*nodes, *weights) if not isinstance(slots[x], tuple)}
        self.made: dict[Slot, Any] = dict(self.outside)  # Any: expressions, and arrays of integers
        self.unknown: set[Slot] = set()  # where a delta may pass, to what only a run tells
        self.wanted: set[Slot] = {slots[x] for x in targets if x in slots}  # and what leads to one
        for op in operations.ops:
            self._lead(op)
        self.deltas: dict[Slot, Symbol] = {}
        self.taken: dict[Slot, Symbol] = {}
        self.bound: dict[Signature, Signature] = {}
        self.node: Node | None = None  # whose turn it is
        self.before = _Before(0)  # the nodes from before its turn
        if slots[loss] in self.wanted:
            self.deltas[slots[loss]] = constant(1.0, _known(loss, "the loss").kind)

    def _lead(self, op: Op) -> None:
        """Decide whether a delta of an operation goes on to a target, or may."""
        signature = op.signature
        if signature is None:
            leads = op.inputs[0] in self.wanted
        elif _is_open(signature):
            trainable = (i for i in signature.nodes if signature.kinds[i].trainable)
            if signature.mode == EXTERNAL:
                leads = op.node not in self.behind
            else:
                leads = any(op.inputs[i] in self.wanted for i in trainable)
            if leads:
                self.unknown.add(op.out)
        else:
            leads = any(op.inputs[i] in self.wanted for i in signature.sends)
        if leads:
            self.wanted.add(op.out)

    @cached_property
    def behind(self) -> set[Node]:
        """Nodes that every target depends on: it cannot have one of them inside."""
        return (
            set.intersection(*(set(below(x, frozenset())[0]) for x in self.targets))
            if self.targets
            else set()
        )

    def backward(self) -> None:
        """Apply the rules of every operation that has a delta, once each."""
        if not self.deltas:
            return
        for op in self.operations.ops:  # outside, a call keeps its value: what is made of it needs no copy
            if op.out not in self.outside:
                self.made[op.out] = self._copied(op)
        reverse(self.operations.ops, self.deltas, self._sent, self._add, self.taken, {})

    def _operand(self, x: Any) -> Any:  # Any: slots, expressions, and literals of every type
        return self.made[x] if isinstance(x, Slot) else x

    def _copied(self, op: Op) -> Any:  # Any: an expression, or an array of integers
        """The node of an operation within the call of a cell, made again for that call."""
        operands, signature, node = tuple(map(self._operand, op.inputs)), op.signature, op.node
        if signature is None:
            (x,) = operands
            return x if _is_index(x) else lift_any(x)
        operands = tuple(
            lift_any(x) if i in signature.nodes and not _is_index(x) else x for i, x in enumerate(operands)
        )
        literals = [i for i in signature.nodes if not isinstance(operands[i], Expression)]
        if literals:
            kinds = [
                with_role(k, Role.LITERAL) if i in literals else k for i, k in enumerate(signature.kinds)
            ]
            signature = signature.operation.signature(tuple(kinds), signature.attributes)
        return new_node(type(node), node.kind, signature, operands, node.code, node.offset)

    def _sent(self, op: Op, g: Symbol) -> Iterator[tuple[Slot, Symbol]]:
        """The deltas of operands that lead to a target."""
        self.before, self.node = _Before(next_serial()), op.node
        if op.out in self.unknown:
            raise _Unresolved(_too_early(op.node))
        if op.signature is None:
            yield op.inputs[0], g
            return
        if op.signature.operation is PART and op.inputs[0] in self.unknown:
            raise _Unresolved(_too_early(op.node))
        if _is_open(op.signature):
            return
        operands = list(map(self._operand, op.inputs))
        y, arguments = Symbol(self.made[op.out]), list(map(_symbol, operands))
        for index, delta in operand_deltas(self._symbolic(op.signature), g, y, arguments):
            if op.inputs[index] in self.wanted:
                try:
                    yield op.inputs[index], fitted(delta(), operands[index].kind)
                except Exception as error:
                    raise _Unknown(_needs_values(op.node, error)) from error

    def _add(self, deltas: dict[Slot, Symbol], to: Slot, delta: Symbol) -> None:
        accumulate(deltas, to, delta)
        made, node = below(deltas[to].x, self.before)[0], self.node
        assert node is not None, "deltas are sent in a node's turn"
        for each in made:  # who asks where it was built means the operation whose derivative it is
            each.code, each.offset = node.code, node.offset

    def _symbolic(self, signature: Signature) -> Signature:
        """The signature whose derivative rules are bound to the functions of expressions."""
        found = self.bound.get(signature)
        if found is None:
            case = Case(signature.kinds, signature.kind)
            case.xp = Symbolic(signature.kind.device)
            found = self.bound[signature] = signature.copy()
            _, found.pulls = signature.bound_to(case, lazily=False)
        return found

    def found(self, target: Expression) -> Expression:
        """Sum of the deltas that have arrived at one target, as a layer."""
        slot = self.slots.get(target)
        delta = None if slot is None else self.taken.get(slot, self.deltas.get(slot))
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


def _is_open(of: Signature) -> bool:
    """Tell whether only a run resolves a node; a cell's parameter is known while it is traced."""
    return of.mode == UNRESOLVED or (of.mode == EXTERNAL and of.operation is not PARAMETER)


def _is_index(x: Any) -> bool:  # Any: an operand
    return is_array(x) and dtype_of(x).kind in "iu"


def _symbol(x: Any) -> Any:  # Any: an operand
    """An operand as rules meet it; numbers, masks and indices are what they are."""
    if isinstance(x, Expression):
        return Symbol(x)
    return Symbol(lift_any(x)) if is_array(x) and dtype_of(x).kind == "f" else x


def _known(x: Expression, what: str) -> Expression:
    if x.kind.shape is None or x.kind.dtype is None:
        raise _Unresolved(
            f"the shape of {what}, {x!r}, is known only in the run; state it in the annotation of what makes it"
        )
    return x


def _too_early(node: Node) -> str:
    return (
        f"what is behind {node!r} is known only in the run, so no derivative can pass it before; write "
        "stop_gradient(...) around it where none has to; a @differentiable function that is annotated with a union, "
        "-> DoubleLayer | None, gives a Do: its run() gives the layer that was chosen, which has such derivatives"
    )


def _needs_values(node: Node, error: Exception) -> str:
    name = node.signature.operation.name
    return (
        f"the derivative of {name} cannot be made an expression: {error}; write its rule with operators and "
        f"functions of `case.xp`, without asking for values; {name} was built at {node.site}"
    )
