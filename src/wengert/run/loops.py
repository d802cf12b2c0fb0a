"""The two loops in which almost all time of a run passes, what a node's rules are given, and notes of their failures.

Knows: the fast cases of a node, and that the loops are plain functions over dictionaries because nothing in
Python is faster; that the delta for a tape which came from a `Do` is a sum that is carried out only if
somebody asks for it; that a node's signature stands for its meaning, so that another meaning is another signature, made
once, of which fast loops and plans know nothing; that the settings of weights may bring such.
Refuses to know: binds, open kinds, who waits, which is care that stops the forward loop; what other rules are for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import Any, Final, Literal, TypeAlias
from weakref import ref

from wengert.arrays import (
    HOST,
    Namespace,
    Value,
    all_quiet,
    dtype_of,
    is_array,
    is_host_array,
    is_out_of_memory,
    shape_of,
    without_memory,
)
from wengert.control import Do
from wengert.errors import ArgumentError, combine, raise_all
from wengert.graph.node import Expression, Node
from wengert.graph.operand import shown, value_kind
from wengert.graph.operation import (
    CELL,
    CONSTANT_NODE,
    EXTERNAL,
    GENERAL,
    NODE_CONSTANT,
    NODE_NODE,
    UNARY,
    Case,
    Operation,
    Rules,
    Signature,
)
from wengert.graph.order import PORTION, below
from wengert.graph.template import Template, template_of
from wengert.graph.weights import Weight
from wengert.lazy import without_products
from wengert.ops.families import operation_of
from wengert.run.commit import Stepped, commit, stepped
from wengert.site import user_position

Values = dict[Any, Value]  # Any: expressions, and `inside_of` a call
Failure = tuple[Exception, ...]
Ends = Mapping[Node, Sequence[Node]]  # for a node those whose values go after it
Part = Literal["forward", "backward", "bind"]
_LONG: Final = 1000  # nodes of a portion: a run that is cancelled stops between two


def forward(
    nodes: list[Node], values: Values, failed: dict[Expression, Failure], inside: Loops | None = None
) -> int:
    """Compute `nodes` in order; how many are done: all, or those before the first that needs care.

    `inside` are the loops for what cells do, if they are not these.
    """
    node = None
    try:
        for node in nodes:
            signature = node.signature
            mode = signature.mode
            if mode == NODE_CONSTANT:
                a, b = node.operands
                values[node] = signature.value(values[a], b)
            elif mode == NODE_NODE:
                a, b = node.operands
                values[node] = signature.value(values[a], values[b])
            elif mode == UNARY:
                (a,) = node.operands
                values[node] = signature.value(values[a])
            elif mode == CONSTANT_NODE:
                a, b = node.operands
                values[node] = signature.value(a, values[b])
            elif mode == GENERAL:
                values[node] = signature.value(*arguments_of(node, signature, values))
            elif mode == CELL:
                arguments = arguments_of(node, signature, values)
                values[node] = entered(node, template_of(signature), arguments, values, inside)
            else:
                break
        else:
            return len(nodes)
    except Exception as failure:
        if node is None:
            raise
        failed[node] = (noted(failure, node, arguments_of(node, node.signature, values), "", values),)
    return next((i for i, done in enumerate(nodes) if done is node), 0)


def passed(
    nodes: list[Node], values: Values, failed: dict[Expression, Failure], ends: Ends, inside: Loops
) -> int:
    """As `forward`, where nothing goes back: values go after their last reader, a portion of nodes at a time."""
    if not ends:
        return forward(nodes, values, failed, inside)
    done = 0
    for portion in _portions(nodes):
        count = forward(portion, values, failed, inside)
        done += count
        if count < len(portion):
            break
        for node in portion:
            for x in ends.get(node, ()):
                values.pop(x, None)
    return done


def _portions(nodes: list[Node]) -> Iterator[list[Node]]:
    """Nodes in their order; the list may be emptied meanwhile."""
    portion: list[Node] = []
    size = 0.0
    for node in nodes:
        portion.append(node)
        size += node.kind.nbytes
        if size >= PORTION or len(portion) == _LONG:
            yield portion
            portion, size = [], 0.0
    if portion and nodes:
        yield portion


def backward(
    nodes: list[Node],
    values: Values,
    deltas: Values,
    failures: list[Exception],
    inside: Loops | None = None,
) -> None:
    """Send the deltas of `nodes` to their operands, last node first; only weights keep theirs."""
    take = deltas.pop
    remaining = reversed(nodes)
    node = None
    while True:
        try:
            for node in remaining:
                g = take(node, None)
                if g is None:
                    continue
                signature = node.signature
                mode = signature.mode
                if mode == NODE_CONSTANT:
                    a, b = node.operands
                    for _, pull in signature.pulls:
                        d = pull(g, values[node], values[a], b)
                        deltas[a] = deltas[a] + d if a in deltas else d
                elif mode == NODE_NODE:
                    a, b = operands = node.operands
                    y, u, v = values[node], values[a], values[b]
                    for index, pull in signature.pulls:
                        d = pull(g, y, u, v)
                        x = operands[index]
                        deltas[x] = deltas[x] + d if x in deltas else d
                elif mode == UNARY:
                    (a,) = node.operands
                    for _, pull in signature.pulls:
                        d = pull(g, values[node], values[a])
                        deltas[a] = deltas[a] + d if a in deltas else d
                elif mode == CELL:
                    for x, d in left(node, g, values, inside):
                        deltas[x] = total(deltas[x], d) if x in deltas else d
                else:
                    arguments = arguments_of(node, signature, values)
                    for index, pull in signature.pulls:
                        d = pull(g, values[node], *arguments)
                        x = node.operands[index]
                        deltas[x] = total(deltas[x], d) if x in deltas else d
            return
        except Exception as failure:
            if node is None:
                raise
            operands = arguments_of(node, node.signature, values)
            failures.append(noted(failure, node, operands, "backward of ", values))


def operand_deltas(
    signature: Signature, g: Value, y: Value, arguments: Sequence[Value]
) -> list[tuple[int, Callable[[], Value]]]:
    """For each operand of a node that gets a delta its index and that delta, computed if it is asked for."""
    return [(index, partial(pull, g, y, *arguments)) for index, pull in signature.pulls]


def accumulate(deltas: Values, x: Any, delta: Value) -> None:  # Any: expressions, and places of a program
    """Add to what has arrived at `x`."""
    deltas[x] = total(deltas.get(x), delta)


def total(arrived: Value | None, delta: Value) -> Value:
    """The sum of what has arrived, which may be nothing, and one more delta; on the device of that."""
    if arrived is None:
        return delta
    if not is_array(delta) or is_host_array(delta):
        return arrived + delta
    with delta.device:
        return arrived + delta


class Call:
    """A call of which the operands are kept for backward: what is within is computed once more."""

    __slots__ = ("arguments", "template")

    def __init__(self, template: Template, arguments: tuple[Value, ...]) -> None:
        self.template = template
        self.arguments = arguments

    def sent(self, g: Value) -> list[tuple[int, Value]] | None:
        """The deltas of operands, by number; None where the nodes within have to be gone through."""
        return None

    def opened(self) -> tuple[Template, Values]:
        """The template, and the values of its nodes."""
        inner: Values = dict(zip(self.template.inputs, self.arguments, strict=True))
        forward(self.template.nodes, inner, {})
        return self.template, inner


def inside_of(node: Node) -> tuple[Node]:
    """Key among the values, for backward, of what a call left: a `Call`, or its template and the values within."""
    return (node,)


def entered(
    node: Node,
    template: Template,
    arguments: tuple[Value, ...],
    values: Values,
    inside: Loops | None = None,
) -> Value:
    """The value of a call of a cell: that of its result, or a tuple of those of all results."""
    if template.remat and (inside is None or inside.goes_back):
        values[inside_of(node)] = Call(template, arguments)
        inside = PASSING if inside is None else inside.passing
    if inside is not None:
        called = inside.called(template, arguments)
        if called is not None:
            if called[1] is not None:
                values[inside_of(node)] = called[1]
            return called[0]
    inner: Values = dict(zip(template.inputs, arguments, strict=True))
    failed: dict[Expression, Failure] = {}
    done = (
        forward(template.nodes, inner, failed) if inside is None else inside.within(template, inner, failed)
    )
    if done < len(template.nodes):
        raise combine(next(iter(failed.values())))
    if inside is None or inside.goes_back:
        values[inside_of(node)] = template, inner
    return inner[template.results[0]] if template.single else tuple(inner[x] for x in template.results)


def left(
    node: Node, g: Value, values: Values, inside: Loops | None = None
) -> Iterator[tuple[Expression, Value]]:
    """The deltas of a call's operands."""
    call = values[inside_of(node)]
    if isinstance(call, Call):
        sent = call.sent(g)
        if sent is not None:
            for index, delta in sent:
                yield node.operands[index], delta
            return
        call = call.opened()
    template: Template
    inner: Values
    template, inner = call
    deltas: Values = {}
    if template.single:
        deltas[template.results[0]] = g
    else:
        for index, delta in g.arrived.items():
            accumulate(deltas, template.results[index], delta)
    failures: list[Exception] = []
    loop = backward if inside is None else inside.backward
    loop(template.nodes, inner, deltas, failures)
    raise_all(failures)
    for index, x in enumerate(template.inputs):
        if x in deltas and index in node.signature.nodes:
            d = deltas[x]
            yield node.operands[index], without_products(d) if template.remat else d


class Loops:
    """Both loops as an evaluation takes them: here one thread, one node after the other."""

    inside: Loops | None = None  # the loops for what cells do, if they are not the usual ones
    goes_back = True  # what cells compute on their way is needed once more
    step: Stepped = staticmethod(stepped)  # what takes each step of a commit

    def forward(
        self, nodes: list[Node], values: Values, failed: dict[Expression, Failure], ends: Ends | None = None
    ) -> int:
        """Values of nodes; where nothing goes back `ends` are those that go after a node."""
        if ends is None:
            return forward(nodes, values, failed, self.inside)
        return passed(nodes, values, failed, ends, self.passing)

    def called(self, template: Template, arguments: tuple[Value, ...]) -> tuple[Value, Call | None] | None:
        """The value of a call by a program, and what that leaves for backward; None where it goes node by node."""
        return None

    def within(self, template: Template, values: Values, failed: dict[Expression, Failure]) -> int:
        """The values of what a cell does."""
        return self.forward(template.nodes, values, failed, None if self.goes_back else template.ends)

    def backward(self, nodes: list[Node], values: Values, deltas: Values, failures: list[Exception]) -> None:
        """Deltas of what is below them."""
        backward(nodes, values, deltas, failures, self.inside)

    @property
    def passing(self) -> Loops:
        """The loops for what cells do where nothing goes back."""
        return PASSING

    @property
    def usual(self) -> Loops:
        """The loops that compute, where these only stand around others."""
        return self

    def like(self, other: Loops) -> Loops:
        """Loops that compute as others, and otherwise do what these do."""
        return other

    def meaning(self, signature: Signature) -> Signature:
        """Replacement of a signature in these runs, where a node is computed with care."""
        return signature

    def around(self, part: Part, node: Node) -> AbstractContextManager[object]:
        """Context in which a node is computed, pulled or opened with care."""
        return _NOTHING

    def commit(
        self,
        deltas: Mapping[Expression, Value],
        snapshot: int,
        loss: Value = 0.0,
        refused: Callable[[Exception], None] | None = None,
    ) -> None:
        """The end of a training."""
        commit(deltas, snapshot, loss, refused, self.step)


class _Passing(Loops):
    """Loops of a run that has no backward pass."""

    goes_back = False


_NOTHING: Final = nullcontext()
PASSING: Final = _Passing()
ONE_THREAD: Final = Loops()


def arguments_of(node: Node, signature: Signature, values: Mapping[Expression, Value]) -> tuple[Value, ...]:
    """The operands' values; a literal is its own."""
    nodes = signature.nodes
    return tuple(values[x] if i in nodes else x for i, x in enumerate(node.operands))


def asked_for(delta: Callable[[], Value], node: Node, arguments: tuple[Value, ...]) -> Value:
    """A delta that the consumer `node` sends, where somebody asks for it after the node's turn."""
    try:
        with all_quiet():
            return delta()
    except Exception as failure:
        raise noted(failure, node, arguments, "backward of ") from None


def summed(thunks: list[Callable[[], Value]]) -> Value:
    """Sum of the deltas of all consumers."""
    with all_quiet():
        return reduce(add, [thunk() for thunk in thunks])


# -- notes of failures: which operation, on what operands, written where ------------------------


def noted(
    failure: Exception, node: Node, operands: Sequence[Value], part: str = "", values: Values | None = None
) -> Exception:
    """Add a note to an exception, unless it has that very note from another branch.

    That of a device without memory becomes Wengert's own, with the largest of `values`, or of the operands.
    """
    if is_out_of_memory(failure):
        arrays = (
            [(x, "an operand") for x in operands]
            if values is None
            else [(x, _named(of)) for of, x in values.items()]
        )
        full = without_memory(node.kind.device, f"{part}{node.signature.operation.name}", arrays)
        full.__cause__ = failure
        failure = full
    note = f"in {part}{located(node, operands)}"
    if note not in getattr(failure, "__notes__", ()):
        failure.add_note(note)
    return failure


def _named(of: object) -> str:
    """The operation of which a value is, for an error."""
    return (
        of.signature.operation.name
        if isinstance(of, Node)
        else "a weight"
        if isinstance(of, Weight)
        else "a call"
    )


def located(node: Node, operands: Sequence[Value]) -> str:
    """An operation, its operands, and where it was written."""
    return f"{_what(node, operands)}, built at {node.site}"


def _what(node: Node, operands: Sequence[Value]) -> str:
    if node.signature.mode == EXTERNAL:
        (source,) = node.operands
        made = "" if isinstance(source, Do) else f" of {type(source).__name__}"
        return f"forward{made}, the Do behind {type(node).__name__} {node.kind.text()}"
    shown = ", ".join(map(described, operands))
    weights = " and ".join(f"weight {x.name!r:.200}" for x in node.operands if isinstance(x, Weight))
    return f"{node.signature.operation.name}({shown}){weights and ' with '}{weights}"


def described(x: Value) -> str:
    """A value by shape and dtype."""
    return f"{shape_of(x)} {dtype_of(x)}" if is_array(x) else value_kind(x).text()


# -- other rules, or the functions of another array library ---------------------------------------

# Any: operations and rules of all types
Changes: TypeAlias = Mapping[Callable[..., Any], Callable[..., Any] | Rules]


_FUNCTIONS = [
    name
    for cls in Namespace.__mro__
    for name, member in vars(cls).items()
    if callable(member) and name[0] != "_"
]


class Changed(Loops):
    """Loops with other rules: every node is left to the careful part of an evaluation, which asks for its meaning."""

    def __init__(self, rules: Changes | None, arrays: Namespace | None) -> None:
        if rules is not None and not isinstance(rules, Mapping):
            raise ArgumentError(
                f"`rules` is a dict of operations, as in {{wg.relu: rule}}; got {shown(rules)}\n  at {user_position()}"
            )
        missing = [name for name in _FUNCTIONS if arrays is not None and not hasattr(arrays, name)]
        if missing:
            raise ArgumentError(
                f"`arrays` has the functions of wengert.arrays.Namespace; {shown(arrays)} lacks "
                f"{', '.join(missing[:3])}{' and others' * (len(missing) > 3)}\n  at {user_position()}"
            )
        self._rules = {_operation_of(public): rule for public, rule in (rules or {}).items()}
        self._arrays = arrays
        self._made: dict[Signature, Signature] = {}

    def same(self, other: Changed) -> bool:
        """True if both mean the same."""
        return self is other or (self._rules == other._rules and self._arrays is other._arrays)

    def forward(
        self, nodes: list[Node], values: Values, failed: dict[Expression, Failure], ends: Ends | None = None
    ) -> int:
        return 0

    def meaning(self, signature: Signature) -> Signature:
        found = self._made.get(signature)
        if found is None:
            found = self._made[signature] = self._changed(signature)
        return found

    def _changed(self, signature: Signature) -> Signature:
        if signature.mode == CELL:
            raise ArgumentError(
                f"{signature.operation.name} is a cell, whose inside an executor with `rules` or `arrays` does "
                "not see; call the function without @cell in such a run"
            )
        operation, rule = signature.operation, self._rules.get(signature.operation)
        if rule is None and self._arrays is None:
            return signature
        if isinstance(rule, Rules):
            rules = rule
        else:
            usual = operation.rules_for(signature.kinds)
            rules = replace(usual, value=usual.value if rule is None else rule)
        if rules is not rule or self._arrays is not None:
            rules = replace(rules, pure=False)  # nobody has promised anything of this rule or these functions
        operation = Operation(operation.name, rules, operation.module, listed=False)
        made = Signature(operation, signature.kinds, signature.attributes)
        case = Case(made.kinds, made.kind)
        if self._arrays is not None and case.xp is HOST:
            case.xp = self._arrays
            made.value, made.pulls = made.bound_to(case)
        return made


# By settings; empty, it costs a run nothing: a WeakKeyDictionary takes 0.15 us to say so.
BROUGHT: Final[dict[ref[object], Changed]] = {}


def bring(settings: object, loops: Changed) -> None:
    """Have runs of weights with these settings follow other rules, as long as the settings live."""
    BROUGHT[ref(settings, _forget)] = loops


def _forget(settings: ref[object]) -> None:
    BROUGHT.pop(settings, None)


def brought(usual: Loops, x: Expression) -> Loops:
    """The loops that settings of weights below `x` bring, else the usual ones; those of an executor hold in any case.

    Raises ArgumentError where they differ: a run has one meaning.
    """
    own = usual.usual
    if not BROUGHT or (isinstance(own, Changed) and not any(own is loops for loops in [*BROUGHT.values()])):
        return usual
    nodes, weights = below(x, ())
    sources = [y for node in nodes if node.signature.mode == EXTERNAL for y in node.operands]
    met = [*weights, *(y for y in sources if isinstance(y, Weight))]
    known = [*BROUGHT.items()]
    found = {w: loops for w in met for settings, loops in known if settings() is w.settings}
    first = own if isinstance(own, Changed) else next(iter(found.values()), None)
    for w, loops in found.items():
        if first is not None and not loops.same(first):
            raise ArgumentError(
                f"the settings of {w!r} bring other rules or arrays than those which this run has followed before; run "
                "them apart, or give the run an executor, as in run.Sequential(rules=..., arrays=...)"
            )
    return usual if first is None or first is own else usual.like(first)


def _operation_of(public: object) -> Operation:
    found = operation_of(public)
    if found is None:
        raise ArgumentError(f"`rules` has operations as keys, as in {{wg.relu: rule}}; got {shown(public)}")
    return found
