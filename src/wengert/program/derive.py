"""Operations as equations: a graph as a list of operations, whose rules are applied to tracers, forward and in reverse.

Knows: that cells are opened up, and literals are inputs or constants; that rules which promise to be pure are written
down, and any other is called as it is in each run.
Refuses to know: where inputs come from, optimizers, buffers, array functions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from wengert.arrays import HOST, copied
from wengert.arrays.abstract import UNKNOWN, Aval, RowTotals
from wengert.arrays.infer import infer
from wengert.arrays.segments import RowSums
from wengert.graph.kinds import Column, Kind, Role, kind
from wengert.graph.node import Expression, Node
from wengert.graph.operation import CELL, Case, Rule, Signature
from wengert.graph.template import PART, Parts, template_of
from wengert.lazy import LazyDelta, Product, Replacement, Rows, Term, without_products
from wengert.program.build import Builder, RecordingNamespace, Tracer, bare
from wengert.program.memory import aliases
from wengert.program.program import Argument, Eqn, Function, SourceInfo, Var, at_rows, mentions_rows

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
    # the slots of all nodes but calls, those within calls included
    found: list[Operand] = field(default_factory=list)
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
        # its rules open it, in each direction anew
        if signature.mode == CELL and template_of(signature).remat:
            table[node] = made.slot()
            # of several results the parts are found
            made.found += [table[node]] * template_of(signature).single
            made.ops.append(Op(signature, inputs, table[node], node))
        elif signature.mode == CELL:
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


# -- operations as equations ------------------------------------------------------------------------

_MOST_RULES: Final = 64  # one for each number of rows met lately
Bound = tuple[Rule, tuple[tuple[int, Rule], ...]]


class AtRows:
    """A rule of a signature whose kinds mention numbers of rows: `rule(rows, *operands)`.

    `index` is the operand whose delta it gives, None for the value.
    """

    def __init__(self, signature: Signature, index: int | None) -> None:
        self._signature, self._index = signature, index
        self._rules: dict[RowTotals, Rule] = {}

    def __call__(self, rows: RowTotals, *operands: Any) -> Any:  # Any: as in Rule
        rule = self._rules.get(rows)
        if rule is None:
            if len(self._rules) >= _MOST_RULES:
                self._rules.clear()
            rule = self._rules[rows] = self._rule(rows)
        return rule(*operands)

    def _rule(self, rows: RowTotals) -> Rule:
        of = self._signature
        kinds = tuple(
            k if k.shape is None else kind(k.column, at_rows(k.shape, rows), k.dtype, k.device, k.role)
            for k in of.kinds
        )
        found = of.operation.signature(kinds, at_rows(of.attributes, rows))
        return found.value if self._index is None else dict(found.pulls)[self._index]


def as_called(rule: Rule, signature: Signature, index: int | None) -> Function:
    """A rule as it is; one for any number of rows where the kinds of its signature mention them."""
    shapes = tuple(k.shape for k in (*signature.kinds, signature.kind))
    return AtRows(signature, index) if mentions_rows((shapes, signature.attributes)) else rule


def aval_of_kind(of: Kind) -> Aval:
    """The abstract value of data of a kind."""
    if of.column in (Column.NUMBER, Column.DOUBLE):
        return Aval((), float, "number")
    if of.dtype is RowSums:
        return Aval((), RowSums, "plan")
    if of.column is Column.OTHER or of.shape is None:
        return UNKNOWN
    if of.column is Column.MASK and of.shape == ():
        return Aval((), bool, "number")
    return Aval(of.shape, of.dtype, "array" if of.shape else "scalar")


def _on_device(signature: Signature) -> bool:
    """True if arrays of another library are among its operands: nothing is known of what its functions give."""
    return any(k.device != "cpu" for k in (*signature.kinds, signature.kind))


def _aval_of_rule(signature: Signature, index: int | None) -> Aval:
    """The abstract value of what a rule gives that promises nothing: of any layout; a weight's delta may be lazy."""
    of = signature.kind if index is None else signature.kinds[index]
    found = aval_of_kind(of)
    if (index is not None and of.role is Role.WEIGHT) or of.device != "cpu":
        return Aval(found.shape, found.dtype, "other", "other")
    return Aval(found.shape, found.dtype, found.form, "other")


class Lowering:
    """The equations of a list of operations, written down by a builder; `values` begins with those of the inputs."""

    def __init__(
        self, operations: Operations, builder: Builder, values: Mapping[Slot, Any] | tuple[()] = ()
    ) -> None:  # Any: tracers
        self.operations = operations
        self.builder = builder
        self.inputs: list[Var] = []  # of the program, in their order
        self.values: dict[Slot, Any] = dict(values)  # Any: tracers and constants
        self.taken: dict[Slot, Any] = {}  # Any: the whole delta of each slot that has sent its own on
        self._rules: dict[Signature, Bound | None] = {}  # None: of somebody who promises nothing

    @property
    def foreign(self) -> bool:
        """True if a rule has been met that promises nothing."""
        return None in self._rules.values()

    def input(self, aval: Aval) -> Tracer:
        """A new input of the program."""
        made = self.builder.input(aval)
        self.inputs.append(made.var)
        return made

    def take(self, x: Expression, value: Any) -> Slot:  # Any: as in `values`
        """Let an expression have a value, in a new slot."""
        self.operations.slots[x] = slot = self.operations.slot()
        self.values[slot] = value
        return slot

    def of(self, x: Expression) -> Any:  # Any: as in `values`; a tuple of them for the results of a cell
        """The value of an expression."""
        slots = self.operations.slots[x]
        return tuple(self.values[slot] for slot in slots) if isinstance(slots, tuple) else self.values[slots]

    def forward(self) -> None:
        """Find the value of each operation."""
        for op in self.operations.ops:
            signature, inputs = op.signature, self._inputs(op)
            if signature is None:
                (self.values[op.out],) = inputs
                continue
            if signature.mode == CELL:
                self.values[op.out] = self._within(signature, inputs)[1]
                continue
            self.builder.source = SourceInfo(
                "forward", signature.operation.name, op.node.code, op.node.offset
            )
            rules = self._rules_of(signature)
            self.values[op.out] = self._applied(rules and rules[0], signature.value, signature, None, inputs)

    def know(self, found: Sequence[Any], ops: int = 0, begin: int = 0) -> None:  # Any: tracers
        """Take values as they are, in the order of `Operations.found`, from an operation and a value there on."""
        self.values |= zip(self.operations.found[begin:], found, strict=True)
        for op in self.operations.ops[ops:]:
            if op.signature is None:
                (self.values[op.out],) = self._inputs(op)
            elif op.signature.mode == CELL:
                self.values.setdefault(op.out, None)  # nobody reads it: it stands for its parts

    def backward(
        self,
        deltas: dict[Slot, Any],  # Any: tracers and lazy deltas
        ops: Sequence[Op] | None = None,
        late: dict[Slot, list[Any]] | None = None,
        unwanted: Container[Slot] = (),
        apart: Container[Slot] = (),
    ) -> list[tuple[Slot, Any]]:
        """Send each delta to the operands of its operation, in reverse: the deltas of inputs are left.

        `ops` is a part of the list. What is `late` is added when it is a slot's turn. No delta is made for what is
        `unwanted`; those of slots that stay `apart` are not added up, but given in the order in which they are sent.
        """
        return reverse(
            self.operations.ops if ops is None else ops,
            deltas,
            lambda op, g: self._pulled(op, g, unwanted),
            self.add,
            self.taken,
            late or {},
            apart,
        )

    # Any: as in `backward`
    def _pulled(self, op: Op, g: Any, unwanted: Container[Slot]) -> Iterator[tuple[Slot, Any]]:
        """The deltas of the operands of one operation."""
        name = (op.signature or op.node.signature).operation.name
        self.builder.source = SourceInfo("backward", name, op.node.code, op.node.offset)
        if op.signature is None:
            if op.inputs[0] not in unwanted:
                yield op.inputs[0], g
            return
        if op.signature.mode == CELL:
            yield from self._once_more(op, op.signature, g, unwanted)
            return
        rules, arguments = self._rules_of(op.signature), [g, self.values[op.out], *self._inputs(op)]
        for at, (index, pull) in enumerate(op.signature.pulls):
            to = op.inputs[index]
            if to not in unwanted:
                yield to, self._applied(rules and rules[1][at][1], pull, op.signature, index, arguments)

    def _within(self, of: Signature, inputs: Sequence[Any]) -> tuple[Lowering, Any]:  # Any: as in `values`
        """The equations of a call that computes once more, and its value: that of its result, or all of them."""
        template = template_of(of)
        inner = capture(template.nodes, template.inputs, literals=False)
        given = dict(zip([slot for slot, _ in inner.inputs], inputs, strict=True))
        low = Lowering(inner, self.builder, given)
        low.forward()
        self._rules |= low._rules
        found = tuple(map(low.of, template.results))
        return low, found[0] if template.single else found

    def _once_more(
        self, op: Op, of: Signature, g: Any, unwanted: Container[Slot]
    ) -> Iterator[tuple[Slot, Any]]:  # Any: as in `backward`
        """The deltas of a call's operands, from values that are computed again when `g` is there, and not before."""
        template, arrived = template_of(of), g.arrived if isinstance(g, Parts) else {0: g}
        begins = [x for x in arrived.values() if isinstance(x, Tracer)]
        inputs = [
            self.builder.stated(_after, x.var.aval, x, *begins)
            if isinstance(x, Tracer) and x.var.aval.form == "array"
            else x
            for x in self._inputs(op)
        ]
        low, _ = self._within(of, inputs)
        deltas: dict[Slot, Any] = {}  # Any: as above
        for index, delta in arrived.items():
            low.add(deltas, low.operations.slots[template.results[index]], delta)
        low.backward(deltas)
        for index, (slot, _) in enumerate(low.operations.inputs):
            to = op.inputs[index]
            if index in of.nodes and slot in deltas and to not in unwanted:
                yield to, without_products(deltas[slot])

    def add(self, deltas: dict[Any, Any], to: object, delta: Any) -> None:  # Any: as in `backward`
        """Add to what has arrived."""
        before = deltas.get(to)
        if before is None:
            deltas[to] = delta
        elif any(isinstance(x, Tracer) and x.var.aval.form == "other" for x in (before, delta)):
            given = leaving(self.builder, before), leaving(self.builder, delta)
            deltas[to] = self.builder.opaque(_add, UNKNOWN, *given)
        else:
            deltas[to] = before + delta

    def _inputs(self, op: Op) -> list[Operand]:
        return [self.values[x] if isinstance(x, Slot) else x for x in op.inputs]

    def _rules_of(self, signature: Signature) -> Bound | None:
        if signature not in self._rules:
            traced = signature.pure and (self.builder.on_device or not _on_device(signature))
            case = Case(signature.kinds, signature.kind)
            of_host = self.builder.on_device and _on_device(signature)
            case.xp = RecordingNamespace(self.builder, HOST if of_host else case.xp)
            self._rules[signature] = signature.bound_to(case) if traced else None
        return self._rules[signature]

    def _applied(
        self, rule: Rule | None, plain: Rule, signature: Signature, index: int | None, arguments: list[Any]
    ) -> Any:  # Any: tracers and constants
        if rule is not None:
            try:
                return rule(*arguments)
            except (TypeError, AttributeError):  # it decides by a value, or goes round its namespace
                pass
        return self.builder.opaque(
            as_called(plain, signature, index), _aval_of_rule(signature, index), *arguments
        )


class LoweredGraph:
    """The equations of nodes that lead from `inputs` to `results`: forward once, and backward for what arrives."""

    def __init__(
        self,
        nodes: Iterable[Node],
        inputs: Sequence[Expression],
        results: Sequence[Expression],
        on_device: bool = False,
    ) -> None:
        self._forward = low = Lowering(capture(nodes, inputs, literals=False), Builder(on_device))
        for slot, x in low.operations.inputs:
            low.values[slot] = low.input(aval_of_kind(x.kind))
        low.forward()
        self._results = [low.operations.slots[x] for x in results]
        self.foreign = low.foreign  # whether a rule promises nothing
        self.inputs = low.inputs
        self.eqns: Sequence[Eqn] = low.builder.eqns
        self.results: list[Argument] = [bare(low.values[slot]) for slot in self._results]

    # Any: tracers, constants, lazy deltas, or None
    def backward(self, arriving: Mapping[int, Aval]) -> tuple[list[Var], Builder, list[Any]]:
        """The deltas that arrive at results with these numbers, the builder of the equations, the deltas of inputs."""
        operations, builder = self._forward.operations, self._forward.builder.continued()
        values = {slot: builder.tracer(bare(x)) for slot, x in self._forward.values.items()}
        low = Lowering(operations, builder, values)
        deltas: dict[Slot, Any] = {}  # Any: tracers and lazy deltas
        for i, aval in arriving.items():
            low.add(deltas, self._results[i], low.input(aval))
        low.backward(deltas)
        return low.inputs, builder, [deltas.get(slot) for slot, _ in operations.inputs]


def reverse(
    ops: Sequence[Op],
    deltas: dict[Slot, Any],
    pulled: Callable[[Op, Any], Iterator[tuple[Slot, Any]]],
    add: Callable[[dict[Slot, Any], Slot, Any], None],
    taken: dict[Slot, Any],
    late: dict[Slot, list[Any]],
    apart: Container[Slot] = (),
) -> list[tuple[Slot, Any]]:  # Any: deltas of every type
    """The reverse sweep: each operation has its turn once, when its whole delta has arrived.

    `pulled` gives the deltas of its operands, `add` adds them up, and `taken` is what each had; else as
    `Lowering.backward`.
    """
    sent: list[tuple[Slot, Any]] = []
    for op in reversed(ops):
        for delta in late.pop(op.out, ()):
            add(deltas, op.out, delta)
        g = deltas.pop(op.out, None)
        if g is None:
            continue
        taken[op.out] = g
        for to, delta in pulled(op, g):
            if to in apart:
                sent.append((to, delta))
            else:
                add(deltas, to, delta)
    return sent


def _after(x: Any, *others: Any) -> Any:  # Any: data
    """The first operand, once the others are there."""
    return x


def _add(a: Any, b: Any) -> Any:  # Any: deltas
    return a + b


def leaving(builder: Builder, delta: Any) -> Any:  # Any: a tracer, a constant or a lazy delta
    """A delta as one value of the program."""
    if not isinstance(delta, LazyDelta):
        return delta
    terms = tuple(builder.opaque(type(term), UNKNOWN, *parts_of_term(term)) for term in delta.terms)
    return builder.opaque(LazyDelta, UNKNOWN, terms, delta.factor, delta.rest)


# Any: tracers and constants
def disjoint(
    builder: Builder, values: Sequence[Any], before: Sequence[Var], others: Iterable[Any]
) -> list[Any]:
    """Values to keep, with copies of what may share memory with others, inputs above all, or with one another.

    A product with 1 is a new array for whoever computes it, but written down as its operand. A value that is what was
    kept `before`, or a part of that, is no copy.
    """
    roots, found = aliases(builder.eqns), []
    shared = {root for x in others if isinstance(x, Var) for root in roots.get(x, (x,))}
    for x, old in zip(values, before, strict=True):
        mutable = isinstance(x, Tracer) and x.var.aval.form not in ("number", "scalar")
        memory = {*roots.get(x.var, (x.var,))} if mutable else set[Var]()
        found.append(x if memory <= {old} or memory.isdisjoint(shared) else _copy(builder, x))
        shared |= memory
    return found


def _copy(builder: Builder, x: Tracer) -> Tracer:
    """A copy, which is the result of no equal call; of a key of truth values, too, which have no sign."""
    if builder.on_device or x.var.aval.dtype == bool:
        return builder.stated(copied, x.var.aval, x)
    return builder.stated(operator.pos, infer(operator.pos, (x.var.aval,), {}), x)


def parts_of_term(term: Term) -> tuple[Any, ...]:  # Any: tracers, variables and constants
    """The arguments that make a term."""
    if isinstance(term, Product):
        return term.left, term.right
    if isinstance(term, Replacement):
        return term.value, term.frozen, term.rate
    assert isinstance(term, Rows), "the rules of operations make these three"
    return term.key, term.values, term.shape
