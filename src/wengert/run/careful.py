"""Runs that go node by node: with other rules or the functions of another array library, and watched ones.

Knows: that a node's signature stands for its meaning, so that another meaning is another signature, made once; that
fast loops and plans know the usual one only, and tell nobody.
Refuses to know: who wants the change, and what a watcher does with what it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias
from weakref import ref

from wengert.arrays import HOST, Namespace, Value
from wengert.control import Context, Run, Steps
from wengert.errors import ArgumentError
from wengert.graph.node import Expression, Node
from wengert.graph.operand import shown
from wengert.graph.operation import CELL, EXTERNAL, Case, Operation, Rules, Signature
from wengert.graph.order import below
from wengert.graph.watchers import Watcher, watchers_of
from wengert.graph.weights import Weight
from wengert.ops.families import operation_of
from wengert.run.evaluation import Evaluation
from wengert.run.loops import Ends, Failure, Loops, Values, arguments_of, located
from wengert.site import user_position

Changes: TypeAlias = Mapping[
    Callable[..., Any], Callable[..., Any] | Rules
]  # Any: operations and rules of all types


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


class Watched(Evaluation):
    """An evaluation that tells each node."""

    # a class with room for attributes, so that the evaluation of a run can be one of both kinds
    watchers: Sequence[Watcher] = ()  # of the weights that have been met

    def __exit__(self, *failure: object) -> None:
        super().__exit__(*failure)
        if self.trains and len(failure) == 3 and failure[1] is None:
            self.tell_updated()

    def tell_updated(self) -> None:
        """Tell of each weight that a commit has changed."""
        for weight in [x for x in self.deltas if isinstance(x, Weight)]:
            for watcher in watchers_of([weight]):
                watcher.updated(weight)

    def begin(self, root: Expression) -> list[Node]:
        nodes = super().begin(root)
        self.watchers = watchers_of(x for x in self.values if isinstance(x, Weight))
        return nodes

    def advance(self, nodes: list[Node], run: Run, whole: bool = False, ends: Ends | None = None) -> int:
        run.check()
        return 0  # each is told by itself

    def backward(self, context: Context) -> Steps[None]:
        return self._backward_carefully(context)

    def _compute(self, node: Node, signature: Signature) -> None:
        super()._compute(node, signature)
        self._tell("forward", node)

    def _pull(self, node: Node, g: Value) -> None:
        super()._pull(node, g)
        self._tell("backward", node)

    def _tell(self, direction: str, node: Node) -> None:
        signature = self.resolved.get(node) or node.signature
        what = located(node, arguments_of(node, signature, self.values))
        for watcher in self.watchers:
            watcher.operation(direction, what)
