"""Runs that go node by node, with other rules or the functions of another array library; and the origin of infinity or
NaN in a run that was refused because of it.

Knows: that a node's signature stands for its meaning, so that another meaning is another signature, made once; that
fast loops and plans know the usual one only, and tell nobody; that the cause of a value lies among its operands, and
of a delta among the derivatives before it, which is asked after the run, so that a good run pays nothing.
Refuses to know: who wants the change, and who refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias
from weakref import ref

from wengert.arrays import HOST, Namespace, Value, all_quiet, is_finite, one_like
from wengert.control import Do
from wengert.errors import ArgumentError, NonFiniteError
from wengert.graph.kinds import Column
from wengert.graph.node import Expression, Node
from wengert.graph.operand import shown, value_kind
from wengert.graph.operation import CELL, EXTERNAL, Case, Operation, Rules, Signature
from wengert.graph.order import below
from wengert.graph.weights import Weight
from wengert.lazy import dense
from wengert.ops.families import operation_of
from wengert.run.evaluation import Evaluation
from wengert.run.loops import (
    Ends,
    Failure,
    Loops,
    Values,
    accumulate,
    arguments_of,
    left,
    located,
    operand_deltas,
)
from wengert.run.tapes import OwnTape
from wengert.site import user_position

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


# -- the origin of infinity or NaN ------------------------------------------------------------------

_NUMBERS = (Column.DOUBLE, Column.FLOAT, Column.ARRAY)


def explain(evaluation: Evaluation, loss: Expression, refusal: Exception) -> None:
    """Add a note to a `NonFiniteError`: the first operation that gave what is not finite, if one can be named."""
    if not isinstance(refusal, NonFiniteError):
        return
    with all_quiet():
        evaluation = _complete(evaluation, loss)
    if loss not in evaluation.values:
        return
    origin = _origin(evaluation, loss)
    if origin is not None:
        refusal.add_note(f"first not finite: {_text(evaluation, origin)}")
    else:
        with all_quiet():
            node = _origin_of_delta(evaluation, loss)
        if node is not None:
            refusal.add_note(f"first not finite: backward of {_text(evaluation, node)}")


def _complete(evaluation: Evaluation, loss: Expression) -> Evaluation:
    """An evaluation with every node's value, which one that made a plan, or ran in batches, does not keep."""
    if evaluation.order:
        evaluation.segments.open_all(evaluation)
        return evaluation
    again = Evaluation(evaluation.snapshot)
    with suppress(Exception):  # a bind asks its function once more; the refusal is told in any case
        Do.program(partial(again.evaluate, loss)).run()
    return again


def _text(evaluation: Evaluation, x: Expression) -> str:
    if not isinstance(x, Node):
        return repr(x)
    signature = evaluation.resolved.get(x) or x.signature
    operands = () if signature.mode == EXTERNAL else arguments_of(x, signature, evaluation.values)
    return located(x, operands)


def _broken(value: Value) -> bool:
    return value_kind(value).column in _NUMBERS and not is_finite(value)


def _origin(evaluation: Evaluation, loss: Expression) -> Expression | None:
    """First node below the loss on a path of values that are not finite; None if the loss is finite."""
    values = evaluation.values
    if loss not in values or not _broken(values[loss]):
        return None
    reached, waiting = {loss}, [loss]
    while waiting:
        x = waiting.pop()
        for y in _below(evaluation, x):
            if y in values and y not in reached and _broken(values[y]):
                reached.add(y)
                waiting.append(y)
    first = [x for x in reached if not isinstance(x, Node)] + [x for x in evaluation.order if x in reached]
    return first[0] if first else None


def _below(evaluation: Evaluation, x: Expression) -> list[Expression]:
    """The expressions that the value of `x` is made of; of a bind, what it gave."""
    tape = evaluation.tapes.get(x) if isinstance(x, Node) else None
    if isinstance(tape, OwnTape) and tape.source is not None:
        return [tape.source]
    return [y for y in x.operands if isinstance(y, Expression)] if isinstance(x, Node) else []


def _origin_of_delta(evaluation: Evaluation, loss: Expression) -> Node | None:
    """The node whose derivative gave the first delta that is not finite; those of a user's tape are not followed."""
    values = evaluation.values
    deltas: dict[Expression, Value] = {loss: one_like(values[loss])}
    for node in reversed(evaluation.order):
        signature = evaluation.resolved.get(node) or node.signature
        g = deltas.pop(node, None)
        if g is None:
            continue
        if signature.mode == EXTERNAL:
            sent = [(y, g) for y in _below(evaluation, node)]
        elif signature.mode == CELL:
            sent = list(left(node, g, values))
        else:
            arguments = arguments_of(node, signature, values)
            found = operand_deltas(signature, g, values[node], arguments)
            sent = [(node.operands[i], delta()) for i, delta in found]
        for x, delta in sent:
            if _broken(dense(delta)):
                return node
            accumulate(deltas, x, delta)
    return None
