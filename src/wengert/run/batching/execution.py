"""One run of a schedule that is bound to weights and literals: launches forward, and backward in the opposite order.

Knows: that literals are stacked once for as long as an expression is kept; tables of values and of deltas, of which a
launch gets views where it can; that single rows, and those that no table can hold, run node by node by the ordinary
rules; that the delta of a weight is put together from those of all launches at the end.
Refuses to know: which graph this is, what a launch computes, and what becomes of the results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import chain
from operator import add, itemgetter
from time import perf_counter
from typing import Any, Literal, Protocol

from wengert.arrays import Value, copied, is_array, is_out_of_memory, without_memory
from wengert.arrays.places import Places
from wengert.arrays.rows import add_rows, add_runs, filled, new_rows, repeated, run_sums, stacked, taken
from wengert.errors import DeviceError
from wengert.graph.apply import resolve
from wengert.graph.node import Expression, Node
from wengert.graph.operation import UNRESOLVED, Signature
from wengert.graph.template import CellSignature
from wengert.graph.weights import Weight
from wengert.lazy import dense
from wengert.run.batching.kernel import Workspace
from wengert.run.batching.lanes import Lanes, Pass
from wengert.run.batching.launch import ComputedRow, Each, Launch, launch_of, one_by_one, row_of
from wengert.run.batching.ragged import JoinedExamples
from wengert.run.batching.region import Group, GroupForm, RegionGraph, RowSource, why_alone
from wengert.run.batching.report import Line, Report
from wengert.run.batching.schedule import LaunchStep, Place, Read, Schedule
from wengert.run.loops import total

_launched = itemgetter(0)
Direction = Literal["forward", "backward"]


@dataclass(slots=True)
class Binding:
    """All that one group has besides rows."""

    form: GroupForm
    signature: Signature | None
    weights: list[tuple[int, Weight]] = field(default_factory=list)  # by operand
    literals: dict[int, tuple[bool, Value]] = field(
        default_factory=dict
    )  # whether it is shared, and the literals
    given: list[Any] = field(default_factory=list)  # Any: literals, and nodes whose values are known
    nodes: list[Node] | None = None  # of what runs node by node
    signatures: list[CellSignature] = field(default_factory=list)  # of examples of unlike sizes
    line: Line | None = None  # of the report
    at: tuple[Any, int] = ("", 0)  # Any: where the user built one of its nodes, as a node has it


class Launches:
    """The launches of an executor, and who is told how long they take: nobody."""

    clock: Callable[[], float] = perf_counter  # of seconds

    def of(self, signature: Signature, shared: tuple[bool, ...], binding: Binding) -> Launch:
        """The launch of the operation or cell of a group."""
        return launch_of(signature, shared)

    def ran(self, bound: BoundSchedule, part: Direction, seconds: Sequence[float], total: float) -> None:
        """A region has run forward or backward: the time of each of its steps, and of all."""


class BoundSchedule:
    """A schedule with the weights and literals of one graph."""

    def __init__(
        self,
        graph: RegionGraph,
        schedule: Schedule,
        report: Report,
        lanes: Lanes | None = None,
        source: Launches | None = None,
    ) -> None:
        self.schedule = schedule
        self.report = report
        self.source = Launches() if source is None else source
        self.passes: tuple[Pass, Pass] | None = None  # forward and backward, on several threads
        self._lanes = lanes
        if lanes is not None:
            self.passes = lanes.passes(schedule, graph)
        self.bindings = [
            _binding(group, order, graph) for group, order in zip(graph.groups, schedule.orders, strict=True)
        ]
        self.launches = [self._launch(step) for step in schedule.steps]
        self.rows: dict[tuple[int, Launch], int] = {}  # of all launches that have one workspace
        for step, launch in zip(schedule.steps, self.launches, strict=True):
            if launch is not None:
                self.rows[step.group, launch] = self.rows.get((step.group, launch), 0) + step.width
        self._alone = [*self._unbatched(graph)]
        signatures = [b.signature for b in self.bindings if b.signature is not None]
        self._apart = Counter((s.operation.name, s.kinds) for s in signatures)

    def begin(self) -> None:
        """Find the lines of a run that begins in the report, which may have been cleared."""
        self.report.runs += 1
        for binding in self.bindings:
            if binding.signature is not None:
                key = (binding.signature.operation.name, binding.signature.kinds)
                binding.line = self.report.line(*key)
                binding.line.apart = max(binding.line.apart, self._apart[key])
            elif binding.form.source is RowSource.SUM:
                binding.line = self.report.line("sum of additions", binding.form.results)
        for alone in self._alone:
            self.report.alone(*alone)

    def _unbatched(self, graph: RegionGraph) -> Iterator[tuple[str, str, str, int]]:
        """Name, reason, site and count of several nodes of one group that run node by node all the same."""
        why: dict[int, str] = {}
        for step, launch in zip(self.schedule.steps, self.launches, strict=True):
            if launch is not None and launch.reason is not None:
                why[step.group] = launch.reason
        for number, binding in enumerate(self.bindings):
            signature = binding.signature
            if signature is None or not (binding.nodes or number in why):
                continue
            reason = why.get(number) or why_alone(signature)
            group = graph.groups[number]
            yield signature.operation.name, reason, group.site, len(group.members)

    def ran(self, part: Direction, seconds: Sequence[float], total: float) -> None:
        """Report a run of all steps, and how long each of them took."""
        for step, spent in zip(self.schedule.steps, seconds, strict=True):
            line = self.bindings[step.group].line
            if line is not None:
                line.seconds += spent
                if part == "forward":
                    line.add(step)
        self.source.ran(self, part, seconds, total)

    def each(self, binding: Binding) -> Each:
        """How the rows of a launch are called that has no batching rule."""
        if self._lanes is None or binding.signature is None:
            return one_by_one
        return self._lanes.each(binding.signature)

    @property
    def keepable(self) -> bool:
        """True if nothing in here holds on to a node."""
        return not any(
            b.nodes is not None or any(isinstance(x, Node) for x in b.given) for b in self.bindings
        )

    def weights(self) -> list[Weight]:
        """All weights that are read."""
        found = dict.fromkeys(w for binding in self.bindings for _, w in binding.weights)
        for binding in self.bindings:  # a weight that is lifted is a given row
            if binding.form.source is RowSource.GIVEN and binding.form.results[0].trainable:
                found |= dict.fromkeys(x for x in binding.given if isinstance(x, Weight))
        return list(found)

    def _launch(self, step: LaunchStep) -> Launch | None:
        binding = self.bindings[step.group]
        if binding.signature is None or step.alone or binding.form.source is RowSource.STACK:
            return None
        shared = [True] * len(binding.signature.kinds)
        for i, read in zip(binding.form.rows, step.reads, strict=True):
            shared[i] = read.one
        for i, (one, _) in binding.literals.items():
            shared[i] = one
        return self.source.of(binding.signature, tuple(shared), binding)


def _binding(group: Group, order: Places, graph: RegionGraph) -> Binding:
    binding = Binding(group.form, group.signature, at=group.at)
    if group.form.source is RowSource.GIVEN:
        binding.given = [group.given[i] for i in group.order[order].tolist()]
    if group.signature is None:
        return binding
    signature = group.signature
    binding.weights = list(zip(group.form.weights, group.weights, strict=True))
    if isinstance(signature, CellSignature):
        first = len(signature.template.parameters)
        binding.weights += enumerate(signature.template.captured, first)
    if group.form.source is RowSource.ALONE:
        binding.nodes = [graph.node(number) for number in group.members[order].tolist()]
    if group.form.source is RowSource.RAGGED:
        signatures: list[Any] = [group.signatures[i] for i in group.order[order].tolist()]  # Any: of cells
        binding.signatures = signatures
        binding.literals = {i: (False, group.each_literal(i, order)) for i in group.form.literals}
        return binding
    for i in group.form.literals:
        if binding.nodes is None:
            binding.literals[i] = group.literals_at(i, order)
        else:
            binding.literals[i] = True, [node.operands[i] for node in binding.nodes]
    return binding


class GivenValues(Protocol):
    """The place where values of weights and of what is given are looked up."""

    def __getitem__(self, x: Expression, /) -> Value: ...

    def stacked(self, given: Sequence[Any], /) -> Value:  # Any: as in `Binding`
        """The values of what is given as one table."""
        ...


class RegionRun:
    """The values of one run of a region, and what its launches leave for backward."""

    def __init__(self, bound: BoundSchedule, values: GivenValues, keeps: bool) -> None:
        self.bound = bound
        self.values = values  # of weights, and of what is given
        self.keeps = keeps
        self.tables: list[Any] = [None] * len(bound.schedule.tables)  # Any: arrays of rows, and lists
        self.kept: list[Any] = [None] * len(bound.schedule.steps)  # Any: what a launch needs for its backward
        self.workspaces: dict[tuple[int, Launch], Workspace] = {}  # by group and launch
        self.seconds = [0.0] * len(bound.schedule.steps)  # of each launch

    def forward(self, check: Callable[[], object]) -> None:
        """All launches, in order; `check` raises if the run is to end."""
        bound = self.bound
        begun = bound.source.clock()
        bound.begin()
        if bound.passes is None:
            for number in range(len(bound.schedule.steps)):
                self._step(number, check)
        else:
            bound.passes[0].run(partial(self._step, check=check))
        bound.ran("forward", self.seconds, bound.source.clock() - begun)

    def _step(self, number: int, check: Callable[[], object]) -> None:
        check()
        begun = self.bound.source.clock()
        step = self.bound.schedule.steps[number]
        binding = self.bound.bindings[step.group]
        if binding.form.source is RowSource.RAGGED:
            self._ragged(number, step, binding)
        elif step.alone:
            self._row_by_row(number, step, binding)
        elif binding.form.source is RowSource.GIVEN:
            self._write(step, self.values.stacked(binding.given[step.start : step.stop]))
        elif binding.form.source is RowSource.SUM:
            assert step.starts is not None
            self._write(step, run_sums(self._read(step.reads[0]), step.starts))
        elif binding.form.source is RowSource.STACK:
            rows = self._read(step.reads[0])
            self._write(step, rows.reshape(step.width, -1, *rows.shape[1:]))
        else:
            self._launch(number, step, binding)
        for table in step.drops:
            self.tables[table] = None
        self.seconds[number] = self.bound.source.clock() - begun

    def _launch(self, number: int, step: LaunchStep, binding: Binding) -> None:
        launch = self.bound.launches[number]
        assert launch is not None and binding.signature is not None
        workspace = self.workspaces.get((step.group, launch))
        if workspace is None:
            workspace = self.workspaces[step.group, launch] = launch.workspace(
                self.bound.rows[step.group, launch]
            )
        operands: list[Value] = [None] * len(binding.signature.kinds)
        for i, read in zip(binding.form.rows, step.reads, strict=True):
            operands[i] = self._read(read)
        for i, weight in binding.weights:
            operands[i] = self.values[weight]
        for i, (one, literals) in binding.literals.items():
            operands[i] = literals if one else literals[step.start : step.stop]
        out = [self._place(step, at) for at in step.writes]
        results, kept = launch.forward(
            step.width, operands, out, workspace, self.keeps, self.bound.each(binding)
        )
        for (table, _), buffer, result in zip(step.writes, out, results, strict=True):
            if buffer is None:
                self.tables[table] = result
        if self.keeps:
            self.kept[number] = kept

    def _read(self, read: Read) -> Value:
        """An operand of all rows of a launch, or the one row that they share."""
        table = self.tables[read.table]
        if read.one:
            return self.row(read.table, read.at.start)  # type: ignore[union-attr] # one row is a slice
        if self.bound.schedule.tables[read.table].loose:
            at = read.at
            return stacked(table[at] if isinstance(at, slice) else [table[i] for i in at.tolist()])
        return table[read.at] if isinstance(read.at, slice) else taken(table, read.at)

    def row(self, table: int, row: int) -> Value:
        """One value, as a node by itself has it."""
        of = self.bound.schedule.tables[table]
        return self.tables[table][row] if of.loose else row_of(self.tables[table], row, of.kind)

    def _place(self, step: LaunchStep, at: Place) -> Value | None:
        """The rows that a launch writes a result into; None where what it gives is the table."""
        table, first = at
        of = self.bound.schedule.tables[table]
        if of.own:
            return None
        if self.tables[table] is None:
            self.tables[table] = (
                [None] * of.rows
                if of.loose
                else new_rows(of.rows, of.kind.shape or (), of.kind.dtype, of.kind.device)
            )
        return self.tables[table][first : first + step.width]

    def _write(self, step: LaunchStep, result: Value) -> None:
        ((table, first),) = step.writes
        if self._place(step, (table, first)) is None:
            self.tables[table] = result
        else:
            self.tables[table][first : first + step.width] = result

    def explain(self, failure: Exception) -> None:
        """DeviceError for a device without memory, or without a compiler: nodes by themselves would need more."""
        if isinstance(failure, DeviceError):
            raise failure
        if is_out_of_memory(failure):
            raise without_memory("a device", "a batch", [(x, "a table") for x in self.tables]) from failure

    def release(self) -> None:
        """Give the workspaces back, in which deltas lie that have been used when the run is over."""
        while self.workspaces:
            (_, launch), workspace = self.workspaces.popitem()
            launch.give_back(workspace)

    def value(self, place: Place) -> Value:
        """The value of a node, which no later run changes."""
        value = self.row(*place)
        return copied(value) if is_array(value) else value

    # -- examples of unlike sizes ---------------------------------------------------------------------

    def _ragged(self, number: int, step: LaunchStep, binding: Binding) -> None:
        members = binding.signatures[step.start : step.stop]
        operands: dict[int, Sequence[Value]] = {
            i: literals[step.start : step.stop] for i, (_, literals) in binding.literals.items()
        }
        for i, read in zip(binding.form.rows, step.reads, strict=True):
            operands[i] = [self.row(*place) for place in places_read(read)]
        weights = {i: self.values[weight] for i, weight in binding.weights}
        joined = JoinedExamples(members, operands, weights)
        for at, result in zip(step.writes, joined.forward(self.keeps), strict=True):
            assert self._place(step, at) is not None, "rows of their own are no table of a launch"
            self.tables[at[0]][at[1] : at[1] + step.width] = result
        if self.keeps:
            self.kept[number] = joined

    # -- nodes by themselves ------------------------------------------------------------------------

    def _row_by_row(self, number: int, step: LaunchStep, binding: Binding) -> None:
        (at,) = step.writes
        assert self._place(step, at) is not None, "rows of their own are no table of a launch"
        done = []
        for row in range(step.width):
            if binding.form.source is RowSource.GIVEN:
                x = binding.given[step.start + row]
                value = self.values[x] if isinstance(x, Expression) else x
            else:
                done.append(self._row(step, binding, row))
                value = done[-1].value
            self.tables[at[0]][at[1] + row] = value
        if self.keeps:
            self.kept[number] = done

    def _row(self, step: LaunchStep, binding: Binding, row: int) -> ComputedRow:
        signature, arguments = binding.signature, self._arguments(step, binding, row)
        assert signature is not None
        if signature.mode == UNRESOLVED:
            assert binding.nodes is not None
            signature = resolve(binding.nodes[step.start + row], arguments)
        return ComputedRow.of(signature, arguments)

    def _arguments(self, step: LaunchStep, binding: Binding, row: int) -> tuple[Value, ...]:
        """The arguments of the rules of one row."""
        assert binding.signature is not None
        found: list[Value] = [None] * len(binding.signature.kinds)
        for i, place in row_places(step, binding, row):
            found[i] = self.row(*place)
        for i, weight in binding.weights:
            found[i] = self.values[weight]
        for i, (one, literals) in binding.literals.items():
            if binding.nodes is not None:  # literals as they were given, node by node
                found[i] = literals[step.start + row]
            else:  # a row of numbers is an array of float64, and an element of that is not weak, as a number is
                found[i] = literals if one else row_of(literals, step.start + row, binding.signature.kinds[i])
        return tuple(found)


def row_places(step: LaunchStep, binding: Binding, row: int) -> Iterator[tuple[int, Place]]:
    for i, read in zip(binding.form.rows, step.reads, strict=True):
        assert read.tables is not None and not isinstance(read.at, slice)
        yield i, (int(read.tables[row]), int(read.at[row]))


def places_read(read: Read) -> list[Place]:
    """The places of rows that are read one by one."""
    assert read.tables is not None and not isinstance(read.at, slice)
    return [*zip(read.tables.tolist(), read.at.tolist(), strict=True)]


class Backward:
    """The deltas of one run."""

    def __init__(self, run: RegionRun, seeds: Iterable[tuple[Place, Value]]) -> None:
        self._run = run
        self._bound = run.bound
        self._begun = run.bound.source.clock()
        self._seconds = [0.0] * len(run.bound.schedule.steps)  # of each launch
        self.tables: list[Any] = []  # Any: arrays of rows, and lists
        for table in run.bound.schedule.tables:
            made: Any = None
            if table.loose:
                made = [None] * table.rows
            elif table.trainable:
                made = filled(table.rows, table.kind.shape or (), table.kind.dtype, table.kind.device)
            self.tables.append(made)
        self._reached: set[Place] = set()  # the writes that deltas have come to
        for place, delta in seeds:
            self._add(place, delta)
            self._reached.add(run.bound.schedule.write_of(place))
        self._sent: list[tuple[int, Expression, Value]] = []  # by which launch, to which weight, what
        self._waiting: dict[Place, Value] = {}  # the deltas that are summed once all have come
        for at, waiting in run.bound.schedule.waiting.items():
            of = run.bound.schedule.tables[at[0]].kind
            self._waiting[at] = filled(waiting.rows, of.shape or (), of.dtype, of.device)

    def run(self, check: Callable[[], object]) -> dict[Expression, Value]:
        """The deltas of weights, and of what was given: a weight may be given as a row, too."""
        bound = self._bound
        if bound.passes is None:
            for number in range(len(bound.schedule.steps) - 1, -1, -1):
                self._step(number, check)
        else:
            bound.passes[1].run(partial(self._step, check=check))
            self._sent.sort(key=_launched, reverse=True)  # the order of one thread: sorting is stable
        sent: dict[Expression, list[Value]] = {}
        for x, delta in chain(((x, delta) for _, x, delta in self._sent), self._products(), self._given()):
            sent.setdefault(x, []).append(delta)
        found = {x: reduce(add, deltas) for x, deltas in sent.items()}
        bound.ran("backward", self._seconds, bound.source.clock() - self._begun)
        return found

    def _step(self, number: int, check: Callable[[], object]) -> None:
        step = self._bound.schedule.steps[number]
        binding = self._bound.bindings[step.group]
        for at in step.writes:
            deltas = self._waiting.pop(at, None)
            if deltas is not None and at in self._reached:
                add_runs(self.tables[at[0]], self._bound.schedule.waiting[at].runs, deltas)
        if binding.form.source is RowSource.GIVEN or not any(k.trainable for k in binding.form.results):
            return
        if not any(place in self._reached for place in step.writes):
            return
        check()
        begun = self._bound.source.clock()
        if binding.form.source is RowSource.RAGGED:
            self._ragged(number, step, binding)
        elif step.alone:
            self._alone(number, step, binding)
        elif binding.form.source is RowSource.SUM:
            assert step.counts is not None
            g = self._arrived(step, 0)
            assert g is not None, "a delta has reached it"
            self._send(step.reads[0], repeated(g, step.counts))
        elif binding.form.source is RowSource.STACK:
            g = self._arrived(step, 0)
            assert g is not None, "a delta has reached it"
            self._send(step.reads[0], g.reshape(-1, *g.shape[2:]))
        else:
            self._launch(number, step, binding)
        self._seconds[number] = self._bound.source.clock() - begun

    def _products(self) -> Iterator[tuple[Weight, Value]]:
        """Products that lie in workspaces for all launches of a group."""
        for group, launch in self._bound.rows:
            workspace = self._run.workspaces.get((group, launch))
            if workspace is None:
                continue
            deltas = workspace.deltas(len(launch.shared))
            workspace.products.clear()
            for i, weight in self._bound.bindings[group].weights:
                if deltas[i] is not None:
                    yield weight, deltas[i]

    def delta(self, place: Place) -> Value | None:
        """The delta that has arrived at one row."""
        table, row = place
        of = self._bound.schedule.tables[table]
        if self.tables[table] is None:
            return None
        return self.tables[table][row] if of.loose else row_of(self.tables[table], row, of.kind)

    def _given(self) -> Iterator[tuple[Expression, Value]]:
        for step in self._bound.schedule.steps:
            binding = self._bound.bindings[step.group]
            if binding.form.source is RowSource.GIVEN and binding.form.results[0].trainable:
                table, first = step.writes[0]
                for row in range(step.width):
                    x, delta = binding.given[step.start + row], self.delta((table, first + row))
                    if isinstance(x, Expression) and delta is not None:
                        yield x, delta

    def _arrived(self, step: LaunchStep, result: int) -> Value | None:
        table, first = step.writes[result]
        if (table, first) not in self._reached:
            return None
        return self.tables[table][first : first + step.width]

    def _launch(self, number: int, step: LaunchStep, binding: Binding) -> None:
        launch = self._bound.launches[number]
        assert launch is not None
        deltas = [self._arrived(step, i) for i in range(len(step.writes))]
        found = launch.backward(step.width, self._run.kept[number], deltas, self._bound.each(binding))
        self._run.kept[number] = None
        for i, weight in binding.weights:
            if found[i] is not None:
                self._sent.append((number, weight, found[i]))
        for i, read in reversed(list(zip(binding.form.rows, step.reads, strict=True))):
            self._send(read, found[i])

    def _send(self, read: Read, g: Value | None) -> None:
        """The deltas of one operand to the rows that it was read from."""
        to, table = read.to, self.tables[read.table]
        if g is None or not read.feeds:
            return
        of = self._bound.schedule.tables[read.table]
        self._reached.update(read.feeds)
        for write, at, first in read.waiting:
            self._waiting[write][first : first + len(at)] = taken(g, at)
        if to is None:
            return
        if read.some is not None:
            g = taken(g, read.some)
        if read.one:
            assert isinstance(to, slice)
            self._add((read.table, to.start), _own(g))
        elif of.loose:
            rows = range(*to.indices(of.rows)) if isinstance(to, slice) else to.tolist()
            for place, row in enumerate(rows):
                self._add((read.table, row), _own(row_of(g, place, of.kind)))
        elif read.runs is not None:
            add_runs(table, read.runs, g)
        else:
            add_rows(table, to, g)

    def _add(self, place: Place, delta: Value) -> None:
        table, row = place
        of, deltas = self._bound.schedule.tables[table], self.tables[table]
        if not of.trainable:
            return
        if not of.loose:
            deltas[row] += dense(delta)
        else:
            deltas[row] = total(deltas[row], delta)

    def _ragged(self, number: int, step: LaunchStep, binding: Binding) -> None:
        joined: JoinedExamples = self._run.kept[number]
        arrived: list[Value | None] = []
        for result, (table, first) in enumerate(step.writes):
            if (table, first) not in self._reached:
                arrived.append(None)
                continue
            deltas = self.tables[table][first : first + step.width]
            loose = self._bound.schedule.tables[table].loose
            arrived.append(joined.arrived(result, deltas) if loose else deltas)
        sent = joined.backward(arrived)
        for i, weight in binding.weights:
            if i in sent:
                self._sent.append((number, weight, sent[i]))
        for i, read in reversed(list(zip(binding.form.rows, step.reads, strict=True))):
            for place, delta in zip(places_read(read), sent.get(i, ()), strict=False):
                self._add(place, delta)
                self._reached.add(self._bound.schedule.write_of(place))

    def _alone(self, number: int, step: LaunchStep, binding: Binding) -> None:
        ((table, first),) = step.writes
        weights, done = dict(binding.weights), self._run.kept[number]
        for row in range(step.width - 1, -1, -1):
            g = self.delta((table, first + row))
            if g is None:
                continue
            places = dict(row_places(step, binding, row))
            for i, delta in done[row].sent(g).items():
                if i in weights:
                    self._sent.append((number, weights[i], delta))
                else:
                    self._add(places[i], delta)
                    self._reached.add(self._bound.schedule.write_of(places[i]))


def _own(delta: Value) -> Value:
    """A copy of what lies where the next launch writes."""
    return copied(delta) if is_array(delta) else delta
