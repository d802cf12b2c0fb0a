"""Launches of a schedule on several threads: whole ones, so that bits stay, where the clock says that it is faster.

Knows: that launches may run at the same time which neither read nor change a table that the other one changes, nor
share a workspace; that all that is added to a table is added in the order of one thread; that launches are timed, put
on lanes by what they have taken, and tried, as programs of `Parallel` are; that rules of users may take any time, so
that two of them which could overlap do so from the first run on.
Refuses to know: what a launch computes, and the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from time import perf_counter
from typing import NamedTuple, TypeAlias, TypeVar

from wengert.arrays.pools import called_on_one_blas_thread
from wengert.graph.operation import Signature
from wengert.run.batching.launch import Each, one_by_one
from wengert.run.batching.region import RegionGraph, RowSource
from wengert.run.batching.schedule import LaunchStep, Schedule
from wengert.run.threads.autotune import TERMS, Choice, Terms
from wengert.run.threads.loops import is_foreign
from wengert.run.threads.pool import ONE_TASK, Spawned, TaskSchedule, ThreadPool, schedule

A = TypeVar("A")
Launching: TypeAlias = Callable[[int], None]  # runs the launch with a number
_LONG, _SHORT = 1.0, 1e-9  # seconds: a rule of others, and what does not count beside it
_GIVEN = -1  # stands for the table of all values from outside


class Uses(NamedTuple):
    """Parts of a run that one launch reads and changes: tables by number, and groups, whose launches share buffers."""

    reads: set[object]
    changes: set[object]


def forward_uses(step: LaunchStep, given: bool) -> Uses:
    """The uses of a launch forward."""
    changes: set[object] = {*(table for table, _ in step.writes), *step.drops, ("group", step.group)}
    if given:
        changes.add(_GIVEN)
    return Uses(set(_tables(step)), changes)


def backward_uses(step: LaunchStep, given: bool) -> Uses:
    """The uses of a launch backward, which adds to the deltas of what it has read."""
    return Uses({table for table, _ in step.writes}, {*_tables(step), ("group", step.group)})


def _tables(step: LaunchStep) -> Iterator[int]:
    for read in step.reads:
        if read.tables is None:
            yield read.table
        else:
            yield from {*read.tables.tolist()}


def needs_of(uses: Iterable[Uses]) -> list[set[int]]:
    """For each of some launches in order those before it that it has to wait for.

    >>> needs_of([Uses(set(), {1}), Uses(set(), {2}), Uses({1}, {2})])
    [set(), set(), {0, 1}]
    """
    changed: dict[object, int] = {}
    read: dict[object, set[int]] = {}  # since it was changed
    found: list[set[int]] = []
    for number, (reads, changes) in enumerate(uses):
        needs = {changed[x] for x in reads | changes if x in changed}
        for x in changes:
            needs |= read.pop(x, set())
            changed[x] = number
        for x in reads - changes:
            read.setdefault(x, set()).add(number)
        found.append(needs)
    return found


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
        self._order = range(len(of.steps))[::-1] if backward else range(len(of.steps))
        uses = backward_uses if backward else forward_uses
        self._needs = needs_of(uses(of.steps[i], given[of.steps[i].group]) for i in self._order)
        self._lock = Lock()
        self._times: list[list[float]] = []
        self._choice: Choice | None = None
        self._tasks: TaskSchedule | None = None
        if sum(foreign[of.steps[i].group] for i in self._order) > 1:
            costs = [_LONG if foreign[of.steps[i].group] else _SHORT for i in self._order]
            tasks = schedule(self._needs, costs, pool.threads, _SHORT)
            if tasks.span < sum(costs) - _LONG / 2:
                self._tasks = tasks
        self._decided = self._tasks is not None

    def run(self, launch: Launching) -> None:
        """Run all launches."""
        if not self._decided:
            self._timed(launch)
        elif self._tasks is None:
            self._in_order(launch)
        elif self._choice is None:
            self._on_lanes(launch, self._tasks)
        else:
            way, begun = self._choice.next(), perf_counter()
            if way:
                self._on_lanes(launch, self._tasks)
            else:
                self._in_order(launch)
            self._choice.learn(way, perf_counter() - begun)

    def _in_order(self, launch: Launching) -> None:
        for number in self._order:
            launch(number)

    def _timed(self, launch: Launching) -> None:
        times = []
        for number in self._order:
            begun = perf_counter()
            launch(number)
            times.append(perf_counter() - begun)
        with self._lock:
            self._times.append(times)
            if len(self._times) == self._terms.timed:
                self._decide([min(several) for several in zip(*self._times, strict=True)])

    def _decide(self, costs: Sequence[float]) -> None:
        if _longest(self._needs, costs) + 2 * self._terms.handoff < sum(costs):
            tasks = schedule(self._needs, costs, self._pool.threads, self._terms.handoff)
            if tasks.span < sum(costs) and len(tasks.parts) > 1:
                self._choice, self._tasks = Choice(self._terms) if self._terms.tried else None, tasks
        self._decided = True

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
        self._each: Each = _OnPool(pool)
        self._made: dict[tuple[tuple[bool, ...], tuple[bool, ...]], tuple[Pass, Pass]] = {}

    def each(self, signature: Signature) -> Each:
        """How the rows of an operation are called, where that is one by one."""
        return self._each if is_foreign(signature) else one_by_one

    def passes(self, of: Schedule, graph: RegionGraph) -> tuple[Pass, Pass]:
        """Forward and backward."""
        foreign = tuple([g.signature is not None and is_foreign(g.signature) for g in graph.groups])
        given = tuple([g.form.source is RowSource.GIVEN for g in graph.groups])
        found = self._made.get((foreign, given))
        if found is None:
            forth, back = (Pass(of, backward, foreign, given, self._pool) for backward in (False, True))
            found = self._made[foreign, given] = forth, back
        return found


@dataclass(frozen=True, slots=True)
class _OnPool:
    """Calls for rows, which rules of users compute: they may take any time."""

    pool: ThreadPool

    def __call__(self, call: Callable[[int], A], count: int, /) -> list[A]:
        found: dict[int, A] = {}

        def work(i: int) -> None:
            found[i] = call(i)

        self.pool.run([lambda: Spawned(partial(work, i) for i in range(count))], ONE_TASK)
        return [found[i] for i in range(count)]


def _longest(needs: Sequence[set[int]], costs: Sequence[float]) -> float:
    """The time that launches take which have to wait for each other."""
    ends: list[float] = []
    for before, cost in zip(needs, costs, strict=True):
        ends.append(cost + max((ends[x] for x in before), default=0.0))
    return max(ends, default=0.0)
