"""A thread pool, the jobs that its threads and their callers run together, and list scheduling of their tasks on lanes.

Knows: counts of what each task of a job waits for, that a task may give more of them, and that a job is over only when
no thread is in it any more; that waking a thread takes longer than a small job, so that a deferred job is opened to the
pool only when it has lasted a while; that items go, in their order, to the lane where they can begin first, and that a
value which changes lanes arrives a handoff later; that an idle thread keeps nothing alive.
Refuses to know: what a task does.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from contextvars import copy_context
from queue import SimpleQueue
from threading import Lock, Thread
from time import perf_counter, sleep, thread_time
from typing import Final, NamedTuple, TypeAlias

from wengert.errors import ArgumentError, combine
from wengert.site import user_position


class TaskSchedule(NamedTuple):
    """Tasks, which have no join in their middle, their dependencies, and the expected duration of all."""

    parts: tuple[tuple[int, ...], ...]  # the items of each task, in an order that keeps dependencies
    waits: tuple[int, ...]  # the number of tasks that each waits for
    followers: tuple[tuple[int, ...], ...]  # the tasks that wait for each
    lanes: tuple[int, ...]  # a hint: tasks of one lane pass values to each other; 0 is that of the caller
    span: float  # in the unit of the costs


class Uses(NamedTuple):
    """All that one item reads and changes, by keys."""

    reads: set[object]
    changes: set[object]


def needs_of(uses: Iterable[Uses]) -> list[set[int]]:
    """For each of some items in order those before it that it has to wait for.

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


def schedule(
    before: Sequence[Collection[int]], costs: Sequence[float], threads: int, handoff: float
) -> TaskSchedule:
    """The schedule for at most `threads` threads; item `i` needs the items `before[i]`, all of them less than `i`.

    >>> schedule([(), (), (0, 1)], [9.0, 9.0, 1.0], 2, 2.0).parts
    ((0,), (1,), (2,))
    >>> schedule([(), (), (0, 1)], [1.0, 1.0, 1.0], 2, 2.0).parts
    ((0, 1, 2),)
    """
    lane, span = _placed(before, costs, threads, handoff)
    if span >= sum(costs):
        lane, span = [0] * len(lane), sum(costs)
    return _cut(lane, before, costs, handoff, span)


ONE_TASK: Final = TaskSchedule(((0,),), (0,), ((),), (0,), 0.0)


def _placed(
    before: Sequence[Collection[int]], costs: Sequence[float], threads: int, handoff: float
) -> tuple[Sequence[int], float]:
    """The lane of each item, which in its turn goes where it can begin first; and the end of the last."""
    free = [0.0, *(handoff for _ in range(threads - 1))]  # when each lane can begin something
    lane: list[int] = []
    end: list[float] = []
    for needed, cost in zip(before, costs, strict=True):
        choices = []
        for at in range(threads):
            start = max([free[at], *(end[x] + handoff * (lane[x] != at) for x in needed)])
            moves = any(lane[x] != at for x in needed)  # the lane that a value leaves ends its task there
            choices.append((start + handoff * moves, at, start))
        _, at, start = min(choices)
        lane.append(at)
        end.append(start + cost)
        free[at] = end[-1]
    return lane, max(end, default=0.0)


def _cut(
    lane: Sequence[int],
    before: Sequence[Collection[int]],
    costs: Sequence[float],
    handoff: float,
    span: float,
) -> TaskSchedule:
    """Cut each lane where a value arrives, and where one leaves it unless the rest is done in no time.

    A task waits only for tasks whose first item was placed before its own first item: no circle can arise.
    """
    leaving = {x for i, needed in enumerate(before) for x in needed if lane[x] != lane[i]}
    parts: list[list[int]] = []
    task: dict[int, int] = {}
    waiting: list[set[int]] = []
    present: dict[int, int] = {}  # the task that is open in each lane
    late: dict[int, float] = {}  # for how long it keeps a value that others wait for
    for i, own in enumerate(lane):
        arriving = {task[x] for x in before[i] if lane[x] != own}
        at = present.get(own)
        if at is None or not arriving <= waiting[at] or late.get(own, -costs[i]) + costs[i] > handoff:
            at = present[own] = len(parts)
            late.pop(own, None)
            parts.append([])
            waiting.append(set())
        parts[at].append(i)
        task[i] = at
        waiting[at] |= {task[x] for x in before[i]} - {at}
        if i in leaving or own in late:
            late[own] = late.get(own, -costs[i]) + costs[i]
    followers: list[list[int]] = [[] for _ in parts]
    for at, needed in enumerate(waiting):
        for x in needed:
            followers[x].append(at)
    return TaskSchedule(
        tuple(map(tuple, parts)),
        tuple(map(len, waiting)),
        tuple(map(tuple, followers)),
        tuple(lane[part[0]] for part in parts),
        span,
    )


PATIENCE: Final = 2e-3  # seconds until a deferred job is opened: help costs 0.2 ms, more where cores are busy
_LOOK: Final = 1e-3  # seconds between two looks at deferred jobs
Work: TypeAlias = Callable[[], object]


class Spawned(list[Work]):
    """Works that a work returns for the job to run too; the first of them is the next."""


def checked_threads(threads: object, who: str) -> int:
    """The number of threads; ArgumentError for what is none."""
    if not isinstance(threads, int) or threads < 1:
        raise ArgumentError(
            f"{who}: `threads` is a number of threads from 1 on; got {threads!r:.60}\n  at {user_position()}"
        )
    return threads


class ThreadPool:
    """`threads - 1` threads beside each caller's own; they begin with the first job and end with the pool."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._jobs = _Jobs(0)
        self._process = 0  # in which the threads live: a fork has none

    def run(self, works: Sequence[Work], schedule: TaskSchedule, deferred: bool = False) -> bool:
        """Run `works`, one for each task of `schedule`; several failures come as one, in the order of the tasks.

        A work may return more works. A `deferred` job gets help only when it has lasted for a while.
        Returns whether the job was small and ran on the caller's thread alone.
        """
        if self._process != os.getpid():
            self._begin()
        jobs = self._jobs
        job, begun = Job(works, schedule, jobs.call), thread_time()
        try:
            jobs.add(job, deferred)
            job.conduct()
        except BaseException:  # an interrupt: other threads use what the caller is about to let go of
            try:
                job.leave()
            except BaseException:  # and another one
                job.leave()
            raise
        finally:
            try:
                jobs.remove(job)
            except BaseException:
                jobs.remove(job)
                raise
        job.finish()
        return not job.helped and thread_time() - begun < PATIENCE

    def _begin(self) -> None:
        with _beginning:
            if self._process == os.getpid():
                return
            self._jobs = jobs = _Jobs(self.threads - 1)
            for i in range(1, self.threads):
                Thread(target=_work, args=(jobs,), name=f"wengert-pool-{i}", daemon=True).start()
            weakref.finalize(self, jobs.dismiss)
            self._process = os.getpid()


class _Jobs:
    """The jobs that the threads of a pool share, and the calls that wake a thread."""

    def __init__(self, threads: int) -> None:
        self.calls: SimpleQueue[bool] = SimpleQueue()  # False: the pool is gone
        self._threads = threads
        self._lock = Lock()
        self._open: list[Job] = []
        self._deferred: list[Job] = []
        self._called = 0  # calls that no thread has taken yet
        self._watched = False  # a thread looks at deferred jobs

    def add(self, job: Job, deferred: bool) -> None:
        """Admit a job that begins."""
        if deferred and self._threads:
            self._deferred.append(job)
            if not self._watched:
                self.call(1)
        else:
            job.open = True
            self._open.append(job)

    def remove(self, job: Job) -> None:
        """Drop a job that is over."""
        with self._lock:
            for jobs in (self._open, self._deferred):
                if job in jobs:
                    jobs.remove(job)

    def call(self, count: int) -> None:
        """Wake so many threads, less those on their way."""
        with self._lock:
            self._call(count)

    def _call(self, count: int) -> None:
        for _ in range(min(count, self._threads - self._called)):
            self._called += 1
            self.calls.put(True)

    def dismiss(self) -> None:
        """End all threads."""
        for _ in range(self._threads):
            self.calls.put(False)

    def taken(self) -> None:
        """Count a call that a thread has taken."""
        with self._lock:
            self._called -= 1

    def next(self) -> Job | None:
        """A job with a task to run; for it one thread stays and looks, as long as there are deferred jobs."""
        while True:
            with self._lock:
                found = next((job for job in self._open if job.waiting), None)
                if found is not None:
                    self._call(found.waiting - 1 + bool(self._deferred))  # another thread has to look
                if found is not None or self._watched or not self._deferred:
                    return found
                self._watched = True
            sleep(_LOOK)
            with self._lock:
                self._watched = False
                before = perf_counter() - PATIENCE
                for job in [job for job in self._deferred if job.begun < before]:
                    self._deferred.remove(job)
                    self._open.append(job)
                    job.open = True


_beginning = Lock()  # of all pools: a process that is forked gets a lock that no thread holds


def _forked() -> None:
    global _beginning
    _beginning = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _work(jobs: _Jobs) -> None:
    while jobs.calls.get():
        jobs.taken()
        while (job := jobs.next()) is not None:
            job.context.copy().run(job.help)
            del job


class Job:
    """Ready, waiting and running tasks; the owner is one of the threads. `call` wakes so many others.

    A task that fails ends the job: tasks that have begun still finish.
    """

    def __init__(self, works: Sequence[Work], schedule: TaskSchedule, call: Callable[[int], object]) -> None:
        self.context = copy_context()  # numpy's error state, and whose training this is
        self.begun = perf_counter()
        self.open = False  # to other threads
        self.helped = False  # another thread has run a task
        self._call = call
        self._works = [*works]
        self._lanes = [*schedule.lanes]
        self._waits = [*schedule.waits]
        self._followers = schedule.followers
        self._lock = Lock()
        self._ready = [i for i, count in enumerate(schedule.waits) if not count]
        self._left = len(works)  # tasks that have not been done
        self._helping = 0  # threads that are in a task, without the owner
        self._failures: list[tuple[int, BaseException]] = []
        self._sleeps = False
        self._stopped = False
        self._bell: SimpleQueue[None] = SimpleQueue()

    @property
    def waiting(self) -> int:
        """The number of tasks that could begin now."""
        return len(self._ready)

    # -- the owner ----------------------------------------------------------------------------------

    def conduct(self) -> None:
        """Take part until the job is over."""
        self._offer(len(self._ready) - 1)
        lane = 0
        while True:
            with self._lock:
                at = self._next(lane)
                over = at is None and self._over()
                self._sleeps = at is None and not over
            if over:
                return
            if at is None:
                self._bell.get()
                continue
            lane = self._lanes[at]
            result = self._perform(at)
            with self._lock:
                ready = self._done(at, result)
            self._offer(ready - 1)

    def leave(self) -> None:
        """End the job after an interrupt of the owner: begin no more tasks, and wait for those that run."""
        waits = True
        while waits:
            try:
                with self._lock:
                    self._stopped = True
                    self._ready.clear()
                    waits = self._sleeps = bool(self._helping)
                if waits:
                    self._bell.get()
            except BaseException:  # one is on its way already, and buffers are in use until all are out
                continue
        self._failures.clear()

    def finish(self) -> None:
        """Let go of the works, which a thread on its way out may still have, and raise the failures of tasks."""
        self._works.clear()
        if not self._failures:
            return
        failures = [failure for _, failure in sorted(self._failures, key=lambda pair: pair[0])]
        self._failures.clear()
        try:
            stops = [x for x in failures if not isinstance(x, Exception)]
            raise stops[0] if stops else combine(x for x in failures if isinstance(x, Exception))
        finally:
            failures.clear()  # their tracebacks hold this frame
            stops.clear()

    # -- all threads --------------------------------------------------------------------------------

    def help(self) -> None:
        """Take part as long as a task is ready."""
        lane = -1
        while True:
            with self._lock:
                at = self._next(lane)
                if at is None:
                    return
                self._helping += 1
                self.helped = True
            lane = self._lanes[at]
            result = self._perform(at)
            with self._lock:
                self._helping -= 1
                ready = self._done(at, result)
                wanted = self._sleeps and (ready > 1 or (not self._ready and self._over()))
                if wanted:
                    self._sleeps = False
            if wanted:
                self._bell.put(None)
                ready -= 1
            self._offer(ready - 1)

    def _next(self, lane: int) -> int | None:
        """A ready task, of this lane if there is one; for the holder of the lock."""
        ready = self._ready
        if not ready:
            return None
        for i in range(len(ready) - 1, -1, -1):
            if self._lanes[ready[i]] == lane:
                return ready.pop(i)
        return ready.pop()

    def _perform(self, at: int) -> object:
        try:
            return self._works[at]()
        except BaseException as failure:  # an interrupt, too: `finish` raises it in the owner's thread
            self._failures.append((at, failure))
            del failure
            return None

    def _done(self, at: int, result: object) -> int:
        """Count a task as done; the number of ready ones. For the holder of the lock."""
        if self._failures or self._stopped:
            self._stopped = True
            self._ready.clear()
            return 0
        self._left -= 1
        for work in reversed(result) if isinstance(result, Spawned) else ():
            self._ready.append(len(self._works))
            self._works.append(work)
            self._lanes.append(self._lanes[at])
            self._left += 1
        for x in self._followers[at] if at < len(self._followers) else ():
            self._waits[x] -= 1
            if not self._waits[x]:
                self._ready.append(x)
        return len(self._ready)

    def _over(self) -> bool:
        return (self._stopped or not self._left) and not self._helping

    def _offer(self, count: int) -> None:
        if count > 0 and self.open:
            self._call(count)
