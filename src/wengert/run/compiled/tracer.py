"""A training traced: forward, backward, and the steps of optimizers, as one program.

Knows: that weights are the first inputs, that all effects come after the last step, and that only the steps of
Wengert's own optimizers are traced.
Refuses to know: when a plan is worth making, and who commits.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

from wengert.arrays import Float32, Value, dtype_of, is_array, one_like, shape_of
from wengert.graph.kinds import Column
from wengert.graph.node import Expression, Node
from wengert.graph.products import zero_of
from wengert.graph.store import Ref
from wengert.graph.weights import Weight
from wengert.lazy import LazyDelta, dense
from wengert.run.compiled.layout import Roots, memory
from wengert.run.compiled.scope import Scope, leaving, term_of
from wengert.run.compiled.tracing import Trace, Traced, concrete, outlined, traced_in

NUMBERS: Final = (float, int, Float32)


class PlanTracer:
    """One evaluation of `nodes`, written down in `trace`; its results are those of the run itself."""

    def __init__(
        self, nodes: Sequence[Node], values: Mapping[Expression, Value], goes_back: bool = True
    ) -> None:
        self.trace = Trace()
        self.nodes = nodes
        self.weights = [x for x in values if isinstance(x, Weight)]
        self.table: dict[Expression, Any] = {w: self.trace.input(values[w]) for w in self.weights}
        self.deltas: dict[Expression, Any] = {}  # Any: traced, lazy or constant
        self.asked: list[Any] = []  # Any: the deltas of targets, traced or constant
        self.shared: set[Traced] = set()  # inputs that may be the memory of weights
        self.scope = Scope(self.trace, self.table, None, goes_back)
        self.results: dict[Expression, Any] = {}  # Any: traced or constant values that stay
        self.first_step = False  # of some weight's optimizer

    def forward(self, kept: Sequence[Expression]) -> None:
        """Every node's value, of which the `kept` ones stay when nobody needs them any more."""
        self.scope.forward(self.nodes, kept=kept)
        self.results = {x: self.table[x] for x in kept}

    def backward(self, loss: Expression, targets: Sequence[Expression] = ()) -> None:
        """The delta of every weight, and of the nodes among the targets."""
        self.deltas[loss] = one_like(self.results[loss].value)
        passed = dict.fromkeys(targets)
        self.scope.backward(self.nodes, self.deltas, passed)
        self.asked = [
            self._dense(x, passed[x] if isinstance(x, Node) else self.deltas.get(x)) for x in targets
        ]

    def _dense(self, x: Expression, delta: Any) -> Any:  # Any: as in `deltas`; None: the loss does not depend
        return self.trace.opaque(zero_of, self.results[x]) if delta is None else dense(delta)

    def kinds(self) -> dict[Traced, Hashable]:
        """Of each input what it has in common with those that it may stand in one array with."""
        found: dict[Traced, Hashable] = {x: _form(x.value) for x in self.trace.inputs}
        for w in self.weights:
            data, optimizer = self.table[w], w.optimizer
            found[data] = (Weight, _form(data.value), type(optimizer), id(optimizer.settings))
        return found

    # -- commit -------------------------------------------------------------------------------------

    def updates(self) -> Updating | None:
        """The updates as part of the program; None where an optimizer has to be asked in each run."""
        if self.scope.foreign:
            return None  # somebody else's rule may train in the middle of a run: the commit sees what it did
        made = Updating(self)
        steps, inputs = [], len(self.trace.inputs)
        for weight, delta in self.deltas.items():
            step = made.step(weight, delta) if isinstance(weight, Weight) else None
            if step is None:
                del self.trace.inputs[inputs:]
                return None
            steps.append(step)
        made.apply(steps)
        return made

    def found(self) -> dict[Expression, Value]:
        """The deltas of this run."""
        return {x: self._now(d) if isinstance(d, LazyDelta) else concrete(d) for x, d in self.deltas.items()}

    def _now(self, delta: LazyDelta) -> LazyDelta:
        terms = [concrete(term_of(self.trace, term)) for term in delta.terms]
        return LazyDelta(terms, delta.factor, concrete(delta.rest))

    def sent(self) -> list[Any]:  # Any: as in `deltas`
        """The deltas as values that may leave the program."""
        return [leaving(self.trace, d) for d in self.deltas.values()]


def _form(value: Value) -> Hashable:
    """Type, shape, element type and order in memory."""
    ordered = is_array(value) and value.flags.c_contiguous
    return type(value), shape_of(value), getattr(value, "dtype", None), ordered


def _fits(step: Any, weight: Weight) -> bool:  # Any: traced, lazy or constant
    """Whether a step can be subtracted in place; one of another dtype or shape is the commit's business."""
    if isinstance(step, LazyDelta) or weight.kind.column is not Column.ARRAY:
        return True
    value = concrete(step)
    return (shape_of(value), dtype_of(value)) == (weight.kind.shape, weight.kind.dtype)


class _Weight:
    """A weight as the step of an optimizer sees it: its data are traced, too."""

    def __init__(self, weight: Weight, data: Traced) -> None:
        self._weight = weight
        self.ref = Ref(data)
        self.data = data

    def __getattr__(self, name: str) -> Any:  # Any: whatever a weight has
        return getattr(self._weight, name)


class Updating:
    """The steps of all optimizers, traced; then the changes in place, which begin when no step can fail any more."""

    def __init__(self, tracer: PlanTracer) -> None:
        self.tracer = tracer
        self.weights: list[Weight] = []
        self.names: list[tuple[str, ...]] = []  # of the state of each weight's optimizer
        self.states: list[Any] = []  # Any: the new states of all, in that order, traced
        self.targets: list[Traced] = []  # what is changed in place
        self.scalars: list[Any] = []  # Any: new values of weights that are numbers, traced
        self.data = {tracer.table[w] for w in tracer.weights} | tracer.shared
        self.roots: dict[Traced, Roots] = {}

    def step(self, weight: Weight, delta: Any) -> Any:  # Any: traced, lazy or constant; None: unknown
        """Array that is subtracted from one weight."""
        optimizer = weight.optimizer
        state = optimizer.state()
        if state is None or not all(is_array(v) or type(v) in NUMBERS for v in state.values()):
            return None
        trace, staged = self.tracer.trace, optimizer.staged()
        for name, value in state.items():
            setattr(staged, name, trace.input(value))
        step = staged.step(delta, _Weight(weight, self.tracer.table[weight]))  # type: ignore[arg-type] # stands for it
        after = staged.state() or {}
        if after.keys() != state.keys():  # the first step makes the state: a later run will tell
            self.tracer.first_step = True
            return None
        if not _fits(step, weight):
            return None
        self.weights.append(weight)
        self.names.append(tuple(state))
        self.states += after.values()
        return step

    def apart(self, x: Any) -> Any:  # Any: traced, lazy or constant
        """`x`, or its own copy where it shares memory with the data of a weight, which are about to change."""
        lazy = isinstance(x, LazyDelta)
        arrays = [*(y for term in x.terms for y in term.arrays()), x.rest] if lazy else [x]
        if not any(r in self.data for y in traced_in(outlined(arrays)) for r in self.roots.get(y, {y})):
            return x
        return self.tracer.trace.call(operator.pos, dense(x))  # a copy, unlike a product with 1

    def apply(self, steps: Sequence[Any]) -> None:  # Any: as in `step`
        """Write down the changes."""
        trace = self.tracer.trace
        self.roots = memory(trace.calls)
        for weight, step in zip(self.weights, [self.apart(step) for step in steps], strict=True):
            data = self.tracer.table[weight]
            if weight.kind.column is not Column.ARRAY:
                made = data - step
                same = type(made.value) is type(data.value)
                self.scalars.append(made if same else trace.call(type(data.value), made))
                continue
            target = Traced(trace, data.value)
            self.targets.append(target)
            if isinstance(step, LazyDelta):
                step.subtract_from(target)
            else:
                target -= step
