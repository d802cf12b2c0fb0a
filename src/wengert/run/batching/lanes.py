"""Launches of a schedule on several threads: whole ones, so that bits stay, where the clock says that it is faster.

Knows: that launches may run at the same time which neither read nor change a table that the other one changes, nor
share a workspace; that all that is added to a table is added in the order of one thread; that launches are timed, put
on lanes by what they have taken, and tried, as programs of `Parallel` are; that rules of users may take any time, so
that two of them which could overlap do so from the first run on.
Refuses to know: what a launch computes, and the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import TypeAlias, TypeVar

from wengert.arrays.pools import called_on_one_blas_thread
from wengert.run.batching.region import Region, RowSource
from wengert.run.batching.schedule import Launch, Schedule
from wengert.run.threads.autotune import TERMS, Choice, Terms
from wengert.run.threads.loops import is_foreign, overlapping
from wengert.run.threads.pool import ONE_TASK, Spawned, TaskSchedule, ThreadPool, Uses, needs_of, schedule

A = TypeVar("A")
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
