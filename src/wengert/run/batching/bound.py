"""A schedule bound to all that one graph brings: weights, literals, kernels, and lanes for its launches.

Knows: that literals are stacked once for as long as an expression is kept; that launches may run at the same time which
neither read nor change a table that the other one changes, nor share a workspace; that all that is added to a table is
added in the order of one thread; that whole launches go on lanes, so that bits stay, where the clock says that it is
faster: they are timed and tried as programs of `Parallel` are; that rules of users may take any time, so that two of
them which could overlap do so from the first run on.
Refuses to know: what a launch computes, and the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, Literal, TypeAlias, TypeVar

from wengert.arrays import Value
from wengert.arrays.places import Places
from wengert.arrays.pools import called_on_one_blas_thread
from wengert.graph.node import Node
from wengert.graph.operation import Signature
from wengert.graph.template import CellSignature
from wengert.graph.weights import Weight
from wengert.run.batching.kernel import BatchedKernel, batched_kernel
from wengert.run.batching.region import Group, GroupForm, Region, RowSource, why_alone
from wengert.run.batching.report import Alone, Line, Report, counted_keys
from wengert.run.batching.schedule import Launch, Schedule
from wengert.run.threads.pool import ONE_TASK, Spawned, TaskSchedule, ThreadPool, Uses, needs_of, schedule
from wengert.run.threads.tasks import TERMS, Choice, Terms, is_foreign, overlapping

A = TypeVar("A")
Direction = Literal["forward", "backward"]
Launching: TypeAlias = Callable[[int], None]  # runs the launch with a number
_GIVEN = -1  # stands for the table of all values from outside


def forward_uses(launch: Launch, given: bool) -> Uses:
    """The uses of a launch forward."""
    changes: set[object] = {*(table for table, _ in launch.writes), *launch.drops, ("group", launch.group)}
    if given:
        changes.add(_GIVEN)
    return Uses(set(_tables(launch)), changes)


def backward_uses(launch: Launch, given: bool) -> Uses:
    """The uses of a launch backward, which adds to the deltas of what it has read."""
    return Uses({table for table, _ in launch.writes}, {*_tables(launch), ("group", launch.group)})


def _tables(launch: Launch) -> Iterator[int]:
    for read in launch.reads:
        if read.tables is None:
            yield read.table
        else:
            yield from {*read.tables.tolist()}


class Pass:
    """The launches of one direction: in order, or as tasks."""

    def __init__(
        self,
        of: Schedule,
        backward: bool,
        foreign: Sequence[bool],
        given: Sequence[bool],
        pool: ThreadPool,
        terms: Terms = TERMS,
    ) -> None:
        self._pool, self._terms = pool, terms
        self._order = range(len(of.launches))[::-1] if backward else range(len(of.launches))
        uses = backward_uses if backward else forward_uses
        self._needs = needs_of(uses(of.launches[i], given[of.launches[i].group]) for i in self._order)
        self._tasks: TaskSchedule | None = None
        by_others = [foreign[of.launches[i].group] for i in self._order]
        if sum(by_others) > 1:
            self._tasks = overlapping(self._needs, by_others, pool.threads)
        self._choice = Choice(terms, None if self._tasks is None else 1)

    def run(self, launch: Launching) -> None:
        """Run all launches."""
        way, begun = self._choice.next(self._divide), perf_counter()
        if way and self._tasks is not None:
            self._on_lanes(launch, self._tasks)
        else:
            times = []
            for number in self._order:
                start = perf_counter()
                launch(number)
                times.append(perf_counter() - start)
            if way is None:
                return self._choice.timed(times)
        return self._choice.learn(way, perf_counter() - begun)

    def _divide(self, costs: Sequence[float]) -> bool:
        tasks = schedule(self._needs, costs, self._pool.threads, self._terms.handoff)
        pays = tasks.span < sum(costs) and len(tasks.parts) > 1
        self._tasks = tasks if pays else None
        return pays

    def _on_lanes(self, launch: Launching, tasks: TaskSchedule) -> None:
        def work(part: Iterable[int]) -> None:
            for i in part:
                launch(self._order[i])

        works = [partial(work, part) for part in tasks.parts]
        called_on_one_blas_thread(partial(self._pool.run, works, tasks))


class Lanes:
    """The passes of one structure, by which of its groups are rules of users and values from outside."""

    def __init__(self, pool: ThreadPool) -> None:
        self._pool = pool
        self._made: dict[tuple[tuple[bool, ...], tuple[bool, ...]], tuple[Pass, Pass]] = {}

    def each(self, call: Callable[[int], A], count: int) -> list[A]:
        """The results of a call for each row, by rules of users, which may take any time."""
        found: dict[int, A] = {}

        def work(i: int) -> None:
            found[i] = call(i)

        self._pool.run([lambda: Spawned(partial(work, i) for i in range(count))], ONE_TASK)
        return [found[i] for i in range(count)]

    def passes(self, of: Schedule, region: Region) -> tuple[Pass, Pass]:
        """Forward and backward."""
        foreign = tuple([g.signature is not None and is_foreign(g.signature) for g in region.groups])
        given = tuple([g.form.source is RowSource.GIVEN for g in region.groups])
        found = self._made.get((foreign, given))
        if found is None:
            forth, back = (Pass(of, backward, foreign, given, self._pool) for backward in (False, True))
            found = self._made[foreign, given] = forth, back
        return found


# -- what a schedule is bound to ----------------------------------------------------------------------


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
    at: tuple[Any, int] = ("", 0)  # Any: where the user built one of its nodes, as a node has it

    @property
    def several(self) -> bool:
        """True if one row gives several results."""
        of = self.signature
        return self.form.source is RowSource.CELL and isinstance(of, CellSignature) and not of.template.single


class Kernels:
    """The kernels of an executor, and who is told how long launches take: nobody."""

    clock: Callable[[], float] = perf_counter  # of seconds

    def of(self, signature: Signature, shared: tuple[bool, ...], binding: Binding) -> BatchedKernel:
        """The kernel of the operation or cell of a group."""
        return batched_kernel(signature, shared)

    def ran(self, bound: BoundSchedule, part: Direction, seconds: Sequence[float], total: float) -> None:
        """A region has run forward or backward: the time of each of its launches, and of all."""


class BoundSchedule:
    """A schedule with the weights and literals of one graph."""

    def __init__(
        self,
        region: Region,
        schedule: Schedule,
        report: Report,
        lanes: Lanes | None,
        source: Kernels,
    ) -> None:
        self.schedule = schedule
        self.report = report
        self.source = source
        self.passes: tuple[Pass, Pass] | None = None  # forward and backward, on several threads
        self._lanes = lanes
        if lanes is not None:
            self.passes = lanes.passes(schedule, region)
        self.bindings = [
            _binding(group, order, region)
            for group, order in zip(region.groups, schedule.orders, strict=True)
        ]
        self.kernels: list[BatchedKernel | None] = []  # of each launch; None where it needs none, or has none
        self.rows: dict[tuple[int, BatchedKernel], int] = {}  # of all launches that have one workspace
        why: dict[int, str] = {}
        for launch in schedule.launches:
            kernel = self._kernel(launch)
            if kernel is not None and kernel.reason is not None:
                why[launch.group], kernel = kernel.reason, None
            if kernel is not None:
                self.rows[launch.group, kernel] = self.rows.get((launch.group, kernel), 0) + launch.width
            self.kernels.append(kernel)
        self._alone: list[Alone] = []
        for number, (binding, group) in enumerate(zip(self.bindings, region.groups, strict=True)):
            of = binding.signature
            if of is not None and (binding.nodes or number in why):
                reason = why.get(number) or why_alone(of)
                self._alone.append((of.operation.name, reason, group.site, len(group.members)))
        self._keys = counted_keys(region.groups)
        self._lines: Sequence[Line | None] = ()  # of the report, which may be cleared between runs, by group

    def ran(self, part: Direction, seconds: Sequence[float], total: float) -> None:
        """Report a run of all launches, and how long each of them took."""
        if part == "forward":
            self._lines = self.report.begin(self._keys, self._alone)
        for launch, spent in zip(self.schedule.launches, seconds, strict=True):
            line = self._lines[launch.group]
            if line is not None:
                line.seconds += spent
                if part == "forward":
                    line.add(launch)
        self.source.ran(self, part, seconds, total)

    def each(self, launch: Launch, call: Callable[[int], A]) -> list[A]:
        """The results of a call for each row of a launch that no kernel computes."""
        signature = self.bindings[launch.group].signature
        if self._lanes is None or launch.alone or signature is None or not is_foreign(signature):
            return [call(row) for row in range(launch.width)]
        return self._lanes.each(call, launch.width)

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

    def _kernel(self, launch: Launch) -> BatchedKernel | None:
        binding = self.bindings[launch.group]
        if binding.signature is None or launch.alone or binding.form.source is RowSource.STACK:
            return None
        shared = [True] * len(binding.signature.kinds)
        for i, read in zip(binding.form.rows, launch.reads, strict=True):
            shared[i] = read.one
        for i, (one, _) in binding.literals.items():
            shared[i] = one
        return self.source.of(binding.signature, tuple(shared), binding)


def _binding(group: Group, order: Places, region: Region) -> Binding:
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
        binding.nodes = [region.node(number) for number in group.members[order].tolist()]
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
