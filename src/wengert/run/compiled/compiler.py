"""Programs in the making: of plans, segments and cells forward and backward, whole paths back, steps of optimizers.

Knows: that a program is made of shapes, element types and layouts of what it will be given, and that nothing of a
structure's values or nodes stays with it; that in the backward program of a segment the values are inputs; that when
all values are known no bind is in the way any more, so that what is left of a training is a plan whose literals are
those values; that the questions of a description name their expressions, so that the kernels of their programs can be
shown before anything runs.
Refuses to know: which structures have earned a program, and where programs are kept.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Generator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, Literal, NamedTuple

from wengert.arrays import Value, all_quiet
from wengert.arrays.abstract import UNKNOWN, Aval
from wengert.arrays.infer import aval_of
from wengert.control import Do
from wengert.control.do import Question, questions
from wengert.errors import ArgumentError
from wengert.graph.binding import At
from wengert.graph.kinds import Column, Kind, kind, with_role
from wengert.graph.node import Expression, Node
from wengert.graph.operand import found_kind, lift_any
from wengert.graph.operation import CELL, UNRESOLVED, Signature
from wengert.graph.order import below
from wengert.graph.products import Also
from wengert.graph.template import PART, Parts, Template, template_of
from wengert.graph.weights import Weight
from wengert.lazy import LazyDelta
from wengert.program.build import Builder, NoProgram, Tracer, bare
from wengert.program.cuda import for_device
from wengert.program.derive import (
    LoweredGraph,
    Lowering,
    Op,
    Operations,
    Slot,
    aval_of_kind,
    capture,
    leaving,
)
from wengert.program.fused import FusedGroup, fused, loops_of
from wengert.program.loops import C, loop_text
from wengert.program.memory import aliases, fused_updates
from wengert.program.program import Argument, Eqn, Program, Var, vars_in
from wengert.run.compiled.binder import binder
from wengert.run.compiled.device import DeviceProgram
from wengert.run.compiled.lowered import (
    LoweredLoss,
    Updating,
    avals_of_literals,
    device_of,
    finished,
    lowered_in_steps,
    seed_of,
)
from wengert.run.compiled.plan import Plan
from wengert.run.compiled.plans import BackwardProgram, Bind, Mode, Path
from wengert.run.compiled.program import FusingProgram, PlanProgram, not_made, simplified
from wengert.run.compiled.segment import (
    BackwardCase,
    CellPrograms,
    Segment,
    SegmentRun,
    described,
    form_of,
    parts_of,
)
from wengert.run.evaluation import Evaluation
from wengert.run.gradient import Wanted
from wengert.site import user_position


def traced_plan(
    evaluation: Evaluation,
    nodes: Sequence[Node],
    mode: Mode,
    targets: Sequence[Expression],
    program: Callable[[Program], PlanProgram] | None,
    stacked: bool,
    at_once: bool,
    native: bool = False,
) -> Plan:
    """The plan of `nodes`, the root last; unless `at_once` it is not ready, and is made in steps."""
    weights = [x for x in evaluation.values if isinstance(x, Weight)]
    asked = targets if mode == "gradients" else None
    also = targets if mode == "train" else ()
    device = device_of(nodes)
    on_device = device is not None and program is None
    lowering = lowered_in_steps([*nodes], weights, mode != "predict", asked, also, on_device)
    bind = partial(binder, [*nodes], weights, targets)
    make = program or (FusingProgram if native else PlanProgram)
    if on_device:
        make, stacked = partial(DeviceProgram, device), False
    return Plan(lowering, bind, make, stacked, at_once, described("an expression", nodes), mode == "train")


def traced_step(
    weight: Weight, delta: Aval, lazy: bool, told: Mapping[str, Any]
) -> tuple[Program, Updating] | None:
    """The program of one step, and what is known of the step; None where there is none.

    Inputs are the data, a delta, these numbers, the states and what the commit has `told` the optimizer: values, and
    those in tuples. Outputs are the step and the next states. A lazy delta is carried out, or there is no program.

    Any: numbers, arrays and tuples of them.
    """
    low = LoweredLoss([weight])
    given = low.input(delta)
    made = Updating(low)
    with all_quiet():
        step = made.alone(weight, LazyDelta((), 1.0, given) if lazy else given, told)
    if step is None or isinstance(step, LazyDelta):
        return None
    outputs = bare((step, *made.kept(())))
    return Program(low.inputs, low.builder.eqns, outputs), made


# -- segments ----------------------------------------------------------------------------------------------------


class _LoweredSegment(Lowering):
    """The operations of a segment, and its inputs: leaves, literals, and whatever comes after them."""

    def __init__(
        self,
        nodes: Sequence[Node],
        leaves: Sequence[Expression],
        data: Sequence[Value],
        resolved: Mapping[Node, Signature],
    ) -> None:
        super().__init__(Operations(), Builder())
        operations, builder = self.operations, self.builder
        self.leaf: dict[Slot, tuple[int, int | None]] = {}  # the place of a leaf, and of a part of it
        for at, (x, value) in enumerate(zip(leaves, data, strict=True)):
            whole = self.input(aval_of(value))
            if x.kind.column is Column.OTHER and x.kind.dtype is tuple:  # the results of a cell
                parts = [builder.stated(operator.getitem, aval_of(y), whole, i) for i, y in enumerate(value)]
                operations.slots[x] = slots = tuple(operations.slot() for _ in parts)
                self.values |= zip(slots, parts, strict=True)
                self.leaf |= {slot: (at, i) for i, slot in enumerate(slots)}
            else:
                self.leaf[self.take(x, whole)] = at, None
        capture(nodes, (), True, resolved, operations)
        avals = avals_of_literals([x for _, x in operations.inputs])
        for (slot, _), aval in zip(operations.inputs, avals, strict=True):
            self.values[slot] = self.input(aval)

    def found(self) -> list[Any]:  # Any: tracers and constants
        """The values in the order of `Operations.found`."""
        return [self.values[slot] for slot in self.operations.found]

    def arrived(self, deltas: Mapping[Expression, Value]) -> dict[Slot, Any]:  # Any: tracers
        """Deltas of nodes and leaves, as new inputs."""
        found: dict[Slot, Any] = {}  # Any: tracers
        for x, delta in deltas.items():
            slots = self.operations.slots[x]
            if not isinstance(delta, Parts):
                found[slots] = self.input(aval_of(delta))
                continue
            parts = {at: self.input(aval_of(part)) for at, part in delta.arrived.items()}
            if isinstance(slots, tuple):
                for at, part in parts.items():
                    self.add(found, slots[at], part)
            else:  # of a cell that computes once more
                found[slots] = Parts(parts)
        return found

    # Any: tracers, lazy and constant
    def leaving(self, slots: Sequence[Slot], deltas: Mapping[Slot, Any]) -> Any:
        """The delta of a leaf as one value; of parts of a cell's results it says which."""
        values = [leaving(self.builder, deltas[slot]) for slot in slots]
        parts = tuple(self.leaf[slot][1] for slot in slots)
        return values[0] if parts == (None,) else self.builder.opaque(_together, UNKNOWN, parts, *values)


def traced_segment(nodes: Sequence[Node], values: Mapping[Expression, Value]) -> Segment | None:
    """The program of nodes that read these values; None where there is none."""
    inside = set(nodes)
    operands = (node.operands[i] for node in nodes for i in node.signature.nodes)
    leaves = tuple(dict.fromkeys(x for x in operands if x not in inside))
    try:
        resolved = _resolved(nodes, values)
        low = _LoweredSegment(nodes, leaves, [values[x] for x in leaves], resolved)
        low.forward()
    except Exception as failure:
        not_made(described("a segment", nodes), failure)
        return None
    forms = {i: form_of(values[x]) for i, x in enumerate(leaves) if not isinstance(x, Weight)}
    signatures = {i: resolved[node] for i, node in enumerate(nodes) if node in resolved}
    outputs = [low.of(node) for node in nodes]
    cells = any(resolved.get(node, node.signature).mode == CELL for node in nodes)
    outputs += low.found() if cells else ()
    made = PlanProgram(Program(low.inputs, low.builder.eqns, bare(tuple(outputs))))
    segment = Segment(nodes, leaves, forms, made, cells, signatures)
    roots = aliases(low.builder.eqns)
    place = {x: i for i, x in enumerate(low.inputs[: len(leaves)])}
    segment.shares = [
        frozenset(place[r] for y in vars_in(bare(x)) for r in roots.get(y, (y,)) if r in place)
        for x in low.found()
    ]
    return segment


def _resolved(nodes: Sequence[Node], values: Mapping[Expression, Value]) -> dict[Node, Signature]:
    """The signatures of nodes of open kinds, as the kinds of what they read tell them."""
    found: dict[Node, Signature] = {}
    if not any(node.signature.mode == UNRESOLVED for node in nodes):
        return found
    kinds: dict[Expression, Any] = {}  # Any: a kind, or those of a cell's results
    for node in nodes:
        signature = node.signature
        if signature.mode == UNRESOLVED:
            given = [
                of if of.known else _kind_of(of, x, kinds, values)
                for of, x in zip(signature.kinds, node.operands, strict=True)
            ]
            signature = found[node] = signature.operation.signature(tuple(given), signature.attributes)
        kinds[node] = signature.kind
        if signature.mode == CELL and not template_of(signature).single:
            kinds[node] = template_of(signature).kinds
        elif signature.operation is PART and node.operands[0] in kinds:
            kinds[node] = kinds[node.operands[0]][dict(signature.attributes)["index"]]
    return found


# Any: an operand
def _kind_of(of: Kind, x: Any, kinds: Mapping[Expression, Any], values: Mapping[Expression, Value]) -> Kind:
    """The kind of an operand that was open: that of a value, or of a result to be."""
    if x not in kinds:
        return found_kind(of, values[x])
    now: Kind = kinds[x]
    if not now.known:
        raise NoProgram("only a run tells its kind")
    if of.column is Column.OTHER:
        return with_role(now, of.role)
    return kind(of.column, now.shape, now.dtype, now.device, of.role)


def traced_backward(
    segment_run: SegmentRun,
    deltas: Mapping[int, Value],
    unwanted: Container[Expression],
    joined: Mapping[Expression, Value],
) -> BackwardCase | None:
    """The program of one case, with the deltas of leaves that are `joined` as one; None where there is none."""
    if any(isinstance(part, LazyDelta) for part in parts_of(deltas.values())):
        return None  # sent by hand
    nodes, leaves = segment_run.nodes, segment_run.leaves
    try:
        resolved = {nodes[i]: of for i, of in segment_run.segment.signatures.items()}
        low = _LoweredSegment(nodes, leaves, segment_run.inputs[: len(leaves)], resolved)
        low.know([low.input(aval_of(value)) for value in segment_run.computed])
        arrived = low.arrived({nodes[i]: delta for i, delta in deltas.items()})
        totals = low.arrived({x: delta for x, delta in joined.items() if delta is not None})
        apart = {slot for slot, (at, _) in low.leaf.items() if leaves[at] not in joined}
        left_out = {slot for slot, (at, _) in low.leaf.items() if leaves[at] in unwanted}
        found = arrived | totals
        sent = low.backward(found, unwanted=left_out, apart=apart)
        made = [(low.leaf[slot][0], low.leaving([slot], {slot: delta})) for slot, delta in sent]
        for x in joined:
            slots = [slot for slot in found if slot in low.leaf and leaves[low.leaf[slot][0]] is x]
            if any(found[slot] is not totals.get(slot) for slot in slots):
                made.append((low.leaf[slots[0]][0], low.leaving(slots, found)))
        outputs = bare(tuple(value for _, value in made))
        return _case(low.inputs, low.builder.eqns, outputs, [at for at, _ in made])
    except Exception as failure:
        not_made(described("the way back through a segment", nodes), failure)
        return None


def _case(
    given: Sequence[Argument], eqns: Sequence[Eqn], outputs: Sequence[Argument], to: Sequence[int]
) -> BackwardCase | None:
    """The program of what is given that somebody reads; None where it reads anything else."""
    p = simplified(Program([], eqns, outputs))
    used = {*vars_in(tuple(p.outputs)), *(x for e in p.eqns for x in e.reads)} - {e.result for e in p.eqns}
    at = {x: i for i, x in reversed([*enumerate(given)]) if isinstance(x, Var) and x in used}
    p.inputs = [*at]
    return None if len(at) < len(used) else BackwardCase(PlanProgram(p), [*at.values()], to)


def _together(indices: Sequence[int], *deltas: Value) -> Parts:
    return Parts(dict(zip(indices, deltas, strict=True)))


# -- calls of cells ----------------------------------------------------------------------------------------------


def traced_cell(template: Template, back: bool) -> CellPrograms | None:
    """The programs of a cell, all rules of which promise to be pure; None where there are none."""
    try:
        low = _LoweredCell(template)
        if low.foreign:
            return None
        kept = low.kept() if back else []
        return CellPrograms(template, PlanProgram(Program(low.inputs, low.eqns, bare((*low.results, *kept)))))
    except Exception as failure:
        not_made(described("a cell", template.nodes), failure)
        return None


def traced_cell_backward(template: Template, arrived: Mapping[int, Value]) -> BackwardCase | None:
    """The program that sends such deltas, which have arrived at some results; None where there is none."""
    avals = {i: aval_of(delta) for i, delta in arrived.items()}
    if any(aval.order != "compact" for aval in avals.values()):
        return None  # or lazy
    try:
        low = _LoweredCell(template)
        given, eqns, sent = low.sent(avals)
        everything = [*low.inputs, *low.results, *low.kept(), *given]
        return _case(everything, eqns, tuple(sent.values()), [*sent])
    except Exception as failure:
        not_made(described("the way back through a cell", template.nodes), failure)
        return None


class _LoweredCell(LoweredGraph):
    """The operations of a template: `inputs` are the operands of a call."""

    def __init__(self, template: Template) -> None:
        if any(aval_of_kind(x.kind).form == "other" for x in template.inputs):
            raise NoProgram("only a run tells what an operand is")
        super().__init__(template.nodes, template.inputs, template.results)
        self._avals = {i: aval_of_kind(x.kind) for i, x in enumerate(template.results) if x.kind.trainable}

    def sent(self, arriving: Mapping[int, Aval]) -> tuple[list[Var], Sequence[Eqn], dict[int, Argument]]:
        """The deltas that arrive at some results, the equations, and the deltas of operands."""
        given, builder, found = self.backward(arriving)
        sent = {i: bare(leaving(builder, d)) for i, d in enumerate(found) if d is not None}
        return given, builder.eqns, sent

    def kept(self) -> list[Var]:
        """The values besides operands and results that backward reads where deltas arrive at all results."""
        _, eqns, sent = self.sent(self._avals)
        made = {e.result for e in self.eqns}.difference(vars_in(tuple(self.results)))
        p = simplified(Program(self.inputs, eqns, tuple(sent.values())))
        read = [*(x for e in p.eqns for x in e.reads), *vars_in(p.outputs)]
        return [x for x in dict.fromkeys(read) if x in made]


# -- paths back --------------------------------------------------------------------------------------------------


def traced_path(path: Path, loss: Expression) -> tuple[BackwardProgram | None, bool]:
    """The program of a way that an evaluation has gone, None if there can be none; whether another run may tell."""
    try:
        low = _LoweredPath(path)
        if not low.own or not low.back(loss):
            return None, False
    except Exception as failure:
        not_made(_path_to(loss), failure)
        return None, True
    plan = Plan(_done(low), lambda *_: lambda root: None, PlanProgram, stacking=False, of=_path_to(loss))
    way = BackwardProgram(plan, low.sources, [w.settings for w in path.weights])
    return way if plan.updating and plan.ready else None, plan.early


def _path_to(loss: Expression) -> str:
    return f"the way back from {loss!r}"


class _LoweredPath(LoweredLoss):
    """All segments of a path as one list of operations; values are inputs, `sources` their places in `Path.values`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.weights)
        self.path = path
        self.sources: list[int] = []
        # whether all derivatives are Wengert's: a rule of somebody else has to be asked in its turn
        self.own = True
        self._ops: dict[int, Sequence[Op]] = {}  # of each step that is a segment
        self._at = 1
        for i in range(len(path.steps) - 1, -1, -1):
            step = path.steps[i]
            if isinstance(step, Bind):
                self._bind(step)
            else:
                self._ops[i] = self._segment(step)

    def _input(self, value: Value, at: int, shared: bool) -> Tracer:
        made = self.read(partial(_gone, at), aval_of(value))
        self.sources.append(at)
        if shared:
            self.shared.add(made.var)
        return made

    def _bind(self, step: Bind) -> None:
        shared = step.source is None or self._shared(step.source)  # a constant may be made of anything
        self.take(step.node, self._input(step.value, self._at, shared))
        self._at += 1

    def _segment(self, step: SegmentRun) -> Sequence[Op]:
        made, nodes, leaves = self.operations, step.nodes, len(step.leaves)
        ops, found, inputs = len(made.ops), len(made.found), len(made.inputs)
        capture(nodes, (), True, {nodes[i]: of for i, of in step.segment.signatures.items()}, made)
        for i, (slot, x) in enumerate(made.inputs[inputs:]):
            self.values[slot] = self._input(x, self._at + leaves + i, False)
        self._at += len(step.inputs)
        values = []
        for value, of in zip(step.computed, step.segment.shares, strict=True):
            values.append(self._input(value, self._at, any(self._shared(step.leaves[i]) for i in of)))
            self._at += 1
        self.know(values, ops, found)
        part = made.ops[ops:]
        self.own &= all(op.signature is None or op.signature.pure or not op.signature.pulls for op in part)
        return part

    def _shared(self, x: Expression) -> bool:
        """True if the value of `x` may be the memory of a weight."""
        return isinstance(x, Weight) or any(y in self.shared for y in vars_in(bare(self.of(x))))

    def back(self, loss: Expression) -> bool:
        """Find the delta of every weight; False if one would be another after its way through a tape."""
        deltas = self._back(loss)
        if not deltas or not self.weight_at.keys() >= deltas.keys():
            return False
        self.arrived(deltas)
        self.value = self.of(loss)
        return True

    def _back(self, loss: Expression) -> dict[Slot, Any]:  # Any: tracers, lazy or constant; empty as above
        slots = self.operations.slots
        binds = [step for step in self.path.steps if isinstance(step, Bind)]
        unwanted = {slots[step.node] for step in binds if step.source is None}
        deltas: dict[Slot, Any] = {}
        late: dict[Slot, list[Any]] = {}
        seed = seed_of(self.of(loss), loss)
        if any(step.node is loss for step in binds):
            late[slots[loss]] = [seed]
        else:
            deltas[slots[loss]] = seed
        for i, step in enumerate(self.path.steps):
            if not isinstance(step, Bind):
                self.backward(deltas, self._ops[i], late, unwanted)
                continue
            slot = slots[step.node]
            sent: dict[Slot, Any] = {}
            for delta in late.pop(slot, ()):
                self.add(sent, slot, delta)
            if slot in sent:
                self.add(deltas, slot, sent[slot])
            total = deltas.pop(slot, None)
            if step.source is None or total is None:
                continue
            if not _passes(total, step.source):
                return {}
            late.setdefault(slots[step.source], []).append(total)
        for slot, several in late.items():
            for delta in several:
                self.add(deltas, slot, delta)
        return deltas


def _done(low: LoweredLoss) -> Generator[None, None, LoweredLoss]:
    """The steps of a lowering that has been done."""
    yield from ()
    return low


def _gone(at: int) -> Value:
    raise AssertionError(f"value {at} of a path is not looked at: its branches are not stacked")


def _passes(delta: Any, x: Expression) -> bool:  # Any: a tracer, lazy or constant
    """True if `checked_delta` would give a delta on as it is."""
    of = x.kind
    if of.column is Column.OTHER or of.shape is None or isinstance(delta, LazyDelta):
        return True
    aval = delta.var.aval if isinstance(delta, Tracer) else aval_of(delta)
    if of.column is Column.DOUBLE:
        return (aval.form, aval.dtype) == ("number", float)
    return of.column is not Column.FLOAT and (aval.shape, aval.dtype) == (of.shape, of.dtype)


# -- the kernels of a run, as text -----------------------------------------------------------------------------

DialectName = Literal["c", "cuda"]
_DIALECTS: Final = ("c", "cuda")


class KernelText(NamedTuple):
    """A kernel: the name of its function, and a source that is complete by itself."""

    name: str
    source: str


def kernels(do: Do[Any], dialect: DialectName = "c") -> list[KernelText]:  # Any: whatever the run gives
    """The kernels into which the equations of a run are fused, in order, each once; nothing is run or compiled.

    `dialect` is "c", for loops that numpy calls, or "cuda". The text depends on shapes, element types and operations
    alone. What only a run asks, behind a bind, and what has no program has no kernels here; neither has the step of an
    optimizer whose state the first step makes: train once before.
    Raises ArgumentError for what is no `Do`, and for another dialect.
    >>> import numpy as np
    >>> from wengert import lift, run, tanh
    >>> x = lift(np.ones((2, 3), np.float32))
    >>> [kernel.name for kernel in run.kernels((tanh(x) * 0.5 + 1.0).predict(), "cuda")]
    ['kernel0']
    """
    if not isinstance(do, Do):
        raise ArgumentError(f"kernels: expected a Do, got {type(do).__name__}\n  at {user_position()}")
    if dialect not in _DIALECTS:
        raise ArgumentError(f'kernels: dialect is "c" or "cuda", got {dialect!r}\n  at {user_position()}')
    found: dict[str, KernelText] = {}  # by the text of a kernel without a name of its own
    for question in questions(do):
        p = _program_of(question)
        for text_of in [] if p is None else _texts(p, dialect):
            name = f"{'loop' if dialect == 'c' else 'kernel'}{len(found)}"
            found.setdefault(text_of("kernel"), KernelText(name, text_of(name)))
    return [*found.values()]


def _texts(p: Program, dialect: str) -> list[Callable[[str], str]]:
    if dialect == "cuda":
        return [kernel.text for kernel in for_device(p).kernels]
    _, groups = fused(p := simplified(p))
    return [partial(_loop, group) for group in loops_of(groups, [*fused_updates(p, groups)])]


def _loop(group: FusedGroup, name: str) -> str:
    return C.module([loop_text(group, name)])


def _program_of(question: Question[Any]) -> Program | None:  # Any: its answer
    """The program of a question that reads an expression; None of any other, and where there can be none."""
    if question.method not in ("predict", "train", "gradients"):
        return None
    first, *others = question.arguments
    also: Sequence[Expression] = first.outputs if isinstance(first, Also) else ()
    asked = first.root if isinstance(first, Also) else first
    root = lift_any(asked.asked if isinstance(asked, At) else asked)
    if not isinstance(root, Node):
        return None
    wanted = others[0].targets if others and isinstance(others[0], Wanted) else None
    nodes, weights = below(root, {})
    back, on_device = question.method != "predict", device_of(nodes) is not None
    steps = lowered_in_steps(nodes, weights, back, wanted, also, on_device)
    with all_quiet(), suppress(NoProgram):
        made = finished(steps)
        return made.program(made.updates() if question.method == "train" and made.deltas else None)
    return None
