"""Programs in the making: a run that is traced, which is the run. Of plans, of segments, and of whole paths back.

Knows: that a trace that fails has changed nothing, and what the evaluation needs from one that does not; that on the
way back of a segment the values are inputs; that when all values are known no bind is in the way any more, so that what
is left of a training is a plan whose literals are those values.
Refuses to know: which structures have earned a program, and where programs are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from operator import itemgetter
from typing import Any

from wengert.arrays import Value, all_quiet, is_array, one_like
from wengert.control import Run
from wengert.graph.node import Expression, Node
from wengert.graph.operation import CELL
from wengert.graph.template import Parts, template_of
from wengert.graph.weights import Weight
from wengert.lazy import LazyDelta
from wengert.run.compiled.backward import BackwardProgram, Bind, Path
from wengert.run.compiled.binder import Binder, in_steps
from wengert.run.compiled.layout import memory
from wengert.run.compiled.plan import Bound, Plan
from wengert.run.compiled.plans import Mode
from wengert.run.compiled.program import PlanProgram, needed
from wengert.run.compiled.scope import Scope, Table, leaving
from wengert.run.compiled.segment import Segment, SegmentBackward, SegmentRun, Sent, form_of, parts_of
from wengert.run.compiled.tracer import PlanTracer
from wengert.run.compiled.tracing import Trace, Traced, concrete, outlined, traced_in
from wengert.run.evaluation import Evaluation
from wengert.run.received import checked_delta


def traced_plan(
    evaluation: Evaluation,
    nodes: Sequence[Node],
    mode: Mode,
    targets: Sequence[Expression],
    program: Callable[..., PlanProgram] | None,
    stacked: bool,
    at_once: bool,
) -> Plan | None:
    """The plan of `nodes`, the root last, which have their values and deltas by then; None where that fails.

    Unless `at_once`, it is not ready: its steps are left to later runs, which change the data of weights.
    """
    root = nodes[-1]
    evaluation.gives_back = True
    tracer = PlanTracer(
        nodes, evaluation.values if at_once else _copied(evaluation.values), mode != "predict"
    )
    plan = None
    try:
        if not _traced_plan(tracer, root, mode, targets):
            return None
        asked = targets if mode == "gradients" else None
        bind = partial(in_steps, nodes, tracer.weights, asked or ())
        plan = Plan(root, tracer, bind, asked, program or PlanProgram, stacked, at_once)
        evaluation.values |= {x: concrete(value) for x, value in tracer.results.items()}
        calls = len(tracer.trace.calls)
        evaluation.deltas = tracer.found()
        del tracer.trace.calls[calls:]  # which put these deltas together
        evaluation.wanted = {x: concrete(d) for x, d in zip(targets, tracer.asked, strict=True)}
    finally:
        if plan is None or plan.ready:
            tracer.trace.close()
        else:
            plan.closes(tracer.trace)
    return plan


def _copied(values: Mapping[Expression, Value]) -> dict[Expression, Value]:
    """The values, the arrays in the same order in memory."""
    return {x: value.copy(order="K") if is_array(value) else value for x, value in values.items()}


def _traced_plan(tracer: PlanTracer, root: Node, mode: Mode, targets: Sequence[Expression]) -> bool:
    try:
        with all_quiet():
            tracer.forward((root, *targets))
            if mode != "predict":
                tracer.backward(root, targets)
    except Exception:  # nothing is lost: the interpreter meets it, and says whose it is
        return False
    return True


# -- segments ----------------------------------------------------------------------------------------------------


def traced_segment(
    nodes: Sequence[Node], values: Mapping[Expression, Value], program: Callable[..., PlanProgram] | None
) -> tuple[Segment, SegmentRun] | None:
    """The programs of nodes, and the run that was traced for them; None where that fails, and nothing has changed."""
    make = program or PlanProgram
    inside = set(nodes)
    operands = (node.operands[i] for node in nodes for i in node.signature.nodes)
    leaves = tuple(dict.fromkeys(x for x in operands if x not in inside))
    trace = Trace()
    scope = Scope(trace, {x: trace.input(values[x]) for x in leaves})
    try:
        with all_quiet():
            scope.forward(nodes)
        outputs: list[Any] = [scope.table[node] for node in nodes]  # Any: traced values or constants
        forms = {i: form_of(values[x]) for i, x in enumerate(leaves) if not isinstance(x, Weight)}
        segment = Segment(nodes, leaves, forms, make(trace, outlined(outputs)), make)
        if segment.cells:
            outputs += scope.computed(nodes)
            segment.program = make(trace, outlined(outputs))
        roots, place = memory(trace.calls), {scope.table[x]: i for i, x in enumerate(leaves)}
        segment.shares = [
            frozenset(place[r] for r in roots.get(x, (x,)) if r in place)
            if isinstance(x, Traced)
            else frozenset()
            for x in map(outlined, scope.computed(nodes))
        ]
        inputs = tuple(x.value for x in trace.inputs)
        return segment, SegmentRun(segment, nodes, leaves, inputs, tuple(map(concrete, outputs)))
    except Exception:  # nothing is lost: the interpreter meets it, and says whose it is
        return None
    finally:
        trace.close()


def traced_backward(
    segment_run: SegmentRun,
    deltas: Mapping[int, Value],
    unwanted: Container[Expression],
    joined: Mapping[Expression, Value],
) -> tuple[SegmentBackward, Sent] | None:
    """The program of one case, and the deltas of this run, of leaves that are `joined` as one; None as above."""
    if any(isinstance(part, LazyDelta) for part in parts_of(deltas.values())):
        return None  # sent by hand
    nodes, trace = segment_run.nodes, Trace()  # Any below: traced, or parts of such
    table = {x: trace.input(value) for x, value in zip(segment_run.leaves, segment_run.inputs, strict=False)}
    scope, walk = Scope(trace, table), Marked(trace, segment_run.computed)
    try:
        with all_quiet():
            scope.forward(nodes, walk)
            sources = [
                *range(len(segment_run.leaves)),
                *walk.sources(len(segment_run.leaves), len(segment_run.inputs)),
            ]
            arrived: dict[Expression, Any] = {nodes[i]: _traced_delta(trace, d) for i, d in deltas.items()}
            totals = {x: None if delta is None else trace.input(delta) for x, delta in joined.items()}
            sources += range(len(sources), len(trace.inputs))
            sent = _through(scope, nodes, arrived, unwanted, totals)
            place = {x: i for i, x in enumerate(segment_run.leaves)}
            outputs = [_leaving(trace, delta) for _, delta in sent]
            used = _used(trace, outlined(outputs))
            reads = [at + 1 for at, x in zip(sources, trace.inputs, strict=True) if x in used]
            trace.inputs = [x for x in trace.inputs if x in used]
            program = segment_run.segment.make(trace, outlined(outputs))
        back = SegmentBackward(program, reads, [place[x] for x, _ in sent])
        return back, [(x, concrete(delta)) for (x, _), delta in zip(sent, outputs, strict=True)]
    except Exception:  # as in `traced_segment`
        return None
    finally:
        trace.close()


def _through(
    scope: Scope,
    nodes: Sequence[Node],
    deltas: dict[Expression, Any],
    unwanted: Container[Expression],
    totals: Mapping[Expression, Any],
) -> list[tuple[Expression, Any]]:  # Any: traced, lazy or constant
    """Deltas that leave the nodes, in the order of the interpreter; for those with totals the totals, at the end."""
    inside: set[Expression] = set(nodes)
    outside: list[tuple[Expression, Any]] = []
    joined: dict[Expression, Any] = {}
    for node in reversed(nodes):
        g = deltas.pop(node, None)
        if g is None:
            continue
        for x, delta in scope.sent(node, g, unwanted):
            if x in inside:
                scope.add(deltas, x, delta)
            elif x in totals:
                if x not in joined and totals[x] is not None:
                    joined[x] = totals[x]
                scope.add(joined, x, delta)
            elif x not in unwanted:
                outside.append((x, delta))
    return [*outside, *joined.items()]


class Marked(Iterator[Value]):
    """Values that become inputs of a trace, among literals that do; where."""

    def __init__(self, trace: Trace, values: Iterable[Value]) -> None:
        self._inputs = trace.inputs
        self._values = iter(values)
        self._begin = len(trace.inputs)
        self._places: list[int] = []

    def __next__(self) -> Value:
        value = next(self._values)
        self._places.append(len(self._inputs))
        return value

    def sources(self, literals: int, values: int) -> list[int]:
        """For each input since then its place in a list, where literals and values begin at these places."""
        of_values = {at: values + i for i, at in enumerate(self._places)}
        of_literals = count(literals)
        return [
            of_values[at] if at in of_values else next(of_literals)
            for at in range(self._begin, len(self._inputs))
        ]


def _used(trace: Trace, outputs: Sequence[object]) -> set[Traced]:
    calls = needed(trace.calls, outputs)
    used = {x for call in calls for x in traced_in((*call.arguments, *call.options.values()))}
    return used.union(traced_in(tuple(outputs)))


def _traced_delta(trace: Trace, delta: Value) -> Any:  # Any: a traced delta, or parts of them
    if isinstance(delta, Parts):
        return Parts({index: _traced_delta(trace, part) for index, part in delta.arrived.items()})
    return trace.input(delta)


def _leaving(trace: Trace, delta: Any) -> Any:  # Any: as in `_traced_delta`
    if isinstance(delta, Parts):
        arrived = [_leaving(trace, part) for part in delta.arrived.values()]
        return trace.opaque(_put_together, tuple(delta.arrived), *arrived)
    return leaving(trace, delta)


def _put_together(indices: tuple[int, ...], *deltas: Value) -> Parts:
    return Parts(dict(zip(indices, deltas, strict=True)))


# -- paths back --------------------------------------------------------------------------------------------------


class PathProgram(BackwardProgram):
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
        """Maker of the changes of weights, which are computed here. Raises Interrupted where the program fails."""
        _, _, *literals = self.pick(_values(path))
        weights = tuple(path.weights)
        _, change = Bound(self.plan, weights, [w.ref for w in weights], tuple(literals), ()).computed(
            run, snapshot
        )
        return change


def traced_path(
    path: Path, evaluation: Evaluation, loss: Expression, program: Callable[..., PlanProgram] | None
) -> tuple[PathProgram | None, bool]:
    """The program of a way that an evaluation has gone, None if there can be none; whether another run may tell.

    What was traced is the run: its deltas are the evaluation's.
    """
    assert isinstance(loss, Node), "a weight is no way"
    tracer = PlanTracer((), {w: evaluation.values[w] for w in path.weights})
    try:
        sources = _traced_there_and_back(tracer, path, loss)
        if sources is None:
            return None, True
        if not tracer.deltas or not all(isinstance(x, Weight) for x in tracer.deltas):
            return None, False
        tracer.results = {loss: tracer.table[loss]}
        plan = Plan(loss, tracer, _unbound, None, program or PlanProgram, stacking=False)
        evaluation.deltas = tracer.found()
        way = PathProgram(plan, sources, [w.settings for w in path.weights])
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


def _traced_there_and_back(tracer: PlanTracer, path: Path, loss: Expression) -> list[int] | None:
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


def _there(tracer: PlanTracer, path: Path) -> list[int]:
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
            for value, leaves in zip(scope.computed(step.nodes), step.segment.shares, strict=True):
                if any(_shared(tracer, step.leaves[i]) for i in leaves):
                    tracer.shared.add(value)
            sources += walk.sources(at + len(step.leaves), at + len(step.inputs))
            at += len(step.inputs) + len(step.computed)
    return sources


def _shared(tracer: PlanTracer, x: Expression) -> bool:
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
