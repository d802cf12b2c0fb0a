"""A way back in the making, and gone.

Knows: that deltas go back through stretches and binds in the interpreter's order, what comes through a bind's tape
after what others sent; that what comes out is a plan, whose literals are the values of the way there.
Refuses to know: which ways are worth it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from wengert.arrays import Value, all_quiet, one_like
from wengert.control import Run
from wengert.graph.node import Expression, Node
from wengert.graph.operation import CELL
from wengert.graph.template import template_of
from wengert.graph.weights import Weight
from wengert.run.compiled.binder import Binder
from wengert.run.compiled.cache import Item
from wengert.run.compiled.plan import Bound, Plan
from wengert.run.compiled.program import Program
from wengert.run.compiled.scope import Scope, Table
from wengert.run.compiled.stretching import Marked
from wengert.run.compiled.tracer import Tracer
from wengert.run.compiled.tracing import concrete, traced_in
from wengert.run.compiled.ways import Bind, Path
from wengert.run.evaluation import Evaluation
from wengert.run.received import checked_delta


class Way(Item):
    """The program of one way."""

    def __init__(self, plan: Plan, sources: Sequence[int], settings: Sequence[object]) -> None:
        super().__init__()
        self.plan = plan
        self.pick: Callable[[Sequence[Value]], tuple[Value, ...]] = itemgetter(0, 0, *sources)
        self.settings = settings  # they have to live as long as their ids count

    def size(self) -> int:
        return self.plan.size()

    def let_go(self) -> None:
        self.plan.let_go()

    def back(self, path: Path, snapshot: int, run: Run) -> Callable[[], Value]:
        """What makes the changes of weights, which are computed here. Raises Interrupted where the program fails."""
        _, _, *literals = self.pick(_values(path))
        weights = tuple(path.weights)
        _, change = Bound(self.plan, weights, [w.ref for w in weights], tuple(literals), ()).computed(
            run, snapshot
        )
        return change


def made(
    path: Path, evaluation: Evaluation, loss: Expression, program: Callable[..., Program] | None
) -> tuple[Way | None, bool]:
    """The program of a way that an evaluation has gone, None if there can be none; whether another run may tell.

    What was traced is the run: its deltas are the evaluation's.
    """
    assert isinstance(loss, Node), "a weight is no way"
    tracer = Tracer((), {w: evaluation.values[w] for w in path.weights})
    try:
        sources = _traced(tracer, path, loss)
        if sources is None:
            return None, True
        if not tracer.deltas or not all(isinstance(x, Weight) for x in tracer.deltas):
            return None, False
        tracer.results = {loss: tracer.table[loss]}
        plan = Plan(loss, tracer, _unbound, None, program or Program, stacking=False)
        evaluation.deltas = tracer.found()
        way = Way(plan, sources, [w.settings for w in path.weights])
        return way if plan.updating else None, plan.early
    finally:
        tracer.trace.close()


def _unbound(stepped: Sequence[Weight]) -> Binder:
    return lambda root: None


def _values(path: Path) -> list[Value]:
    """All that was read and found on the way there, after what nobody reads."""
    values: list[Value] = [None]
    for step in reversed(path.steps):
        if isinstance(step, Bind):
            values.append(step.value)
        else:
            values += step.inputs
            values += step.computed
    return values


def _traced(tracer: Tracer, path: Path, loss: Expression) -> list[int] | None:
    """The places of the plan's literals among `_values`; None where a rule fails, or is not Wengert's own."""
    try:
        with all_quiet():
            sources = _there(tracer, path)
            if not all(_own(tracer.scope, x.nodes) for x in path.steps if not isinstance(x, Bind)):
                return sources
            tracer.deltas = _back(tracer.scope, path, loss)
    except Exception:  # nothing is lost: the interpreter meets it, and says whose it is
        return None
    return sources


def _there(tracer: Tracer, path: Path) -> list[int]:
    scope, trace = tracer.scope, tracer.trace
    sources: list[int] = []
    at = 1
    for step in reversed(path.steps):
        if isinstance(step, Bind):
            scope.table[step.node] = value = trace.input(step.value)
            if step.source is None or _shared(tracer, step.source):  # a constant may be made of anything
                tracer.shared.add(value)
            sources.append(at)
            at += 1
        else:
            walk = Marked(trace, step.computed)
            scope.forward(step.nodes, walk)
            for value, leaves in zip(scope.computed(step.nodes), step.stretch.shares, strict=True):
                if any(_shared(tracer, step.leaves[i]) for i in leaves):
                    tracer.shared.add(value)
            sources += walk.sources(at + len(step.leaves), at + len(step.inputs))
            at += len(step.inputs) + len(step.computed)
    return sources


def _shared(tracer: Tracer, x: Expression) -> bool:
    """Whether the value of `x` may be the memory of a weight."""
    value = tracer.table[x]
    return isinstance(x, Weight) or any(y in tracer.shared for y in traced_in(value))


def _own(scope: Scope, nodes: Sequence[Node]) -> bool:
    """Whether all derivatives are Wengert's: a rule of somebody else has to be asked in its turn."""
    signatures = [scope.meaning(node) for node in nodes]
    while signatures:
        signature = signatures.pop()
        if signature.mode == CELL:
            signatures += [node.signature for node in template_of(signature).nodes]
        elif signature.pulls and not signature.pure:
            return False
    return True


def _back(scope: Scope, path: Path, loss: Expression) -> Table:
    """The delta of every weight; empty if one would have been changed on its way through a tape."""
    seed = one_like(concrete(scope.table[loss]))
    binds = {step.node for step in path.steps if isinstance(step, Bind)}
    unwanted = {step.node for step in path.steps if isinstance(step, Bind) and step.source is None}
    deltas: Table = {} if loss in binds else {loss: seed}
    late: dict[Expression, list[Any]] = {loss: [seed]} if loss in binds else {}  # Any: as in `Table`
    for step in path.steps:
        if isinstance(step, Bind):
            total = _sum(scope, [*_taken(deltas, step.node), *_sum(scope, late.pop(step.node, []))])
            source = step.source
            if source is None or not total:
                continue
            (delta,) = total
            if checked_delta(concrete(delta), source) is not concrete(delta):
                return {}
            late.setdefault(source, []).append(delta)
            continue
        for node in reversed(step.nodes):
            for delta in late.pop(node, ()):
                scope.add(deltas, node, delta)
            for g in _taken(deltas, node):
                for x, delta in scope.sent(node, g, unwanted):
                    if x not in unwanted:
                        scope.add(deltas, x, delta)
    for x, sent in late.items():
        for delta in sent:
            scope.add(deltas, x, delta)
    return deltas


def _taken(deltas: Table, x: Expression) -> list[Any]:  # Any: as in `Table`
    return [deltas.pop(x)] if x in deltas else []


def _sum(scope: Scope, sent: Sequence[Any]) -> list[Any]:  # Any: as in `Table`
    """The sum, if there is anything."""
    total: dict[Any, Any] = {}
    for delta in sent:
        scope.add(total, None, delta)  # type: ignore[arg-type] # one place
    return [*total.values()]
