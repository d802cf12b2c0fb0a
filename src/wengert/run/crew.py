"""Threads that run the tasks of one job as soon as nothing keeps them waiting; the caller is one of them.

Knows: counts of what each task waits for, and that a job is over only when no thread is in it any more.
Refuses to know: what a task does. One that fails ends the job: those that have begun still finish.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from contextvars import copy_context
from queue import SimpleQueue
from threading import Lock, Thread

from wengert.errors import combine
from wengert.run.partition import Tasks

Work = Callable[[], object]


class Crew:
    """`threads - 1` threads beside each caller's own; they begin with the first job and end with the crew."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._lock = Lock()
        self._offers: SimpleQueue[_Job | None] = SimpleQueue()
        self._home = 0  # the process in which the threads live: a fork has none

    def run(self, works: Sequence[Work], tasks: Tasks) -> None:
        """Run `works`, one for each of `tasks`; several failures come as one, in the order of the tasks."""
        if self._home != os.getpid():
            self._begin()
        job = _Job(works, tasks, self._offers, self.threads - 1)
        try:
            job.conduct()
        except BaseException:
            job.leave()
            raise
        job.finish()

    def _begin(self) -> None:
        with self._lock:
            if self._home == os.getpid():
                return
            offers: SimpleQueue[_Job | None] = SimpleQueue()
            self._offers = offers
            for i in range(1, self.threads):
                Thread(target=_help, args=(offers,), name=f"wengert-crew-{i}", daemon=True).start()
            weakref.finalize(self, _dismiss, offers, self.threads - 1)
            self._home = os.getpid()


def _help(offers: SimpleQueue[_Job | None]) -> None:
    while (job := offers.get()) is not None:
        job.context.copy().run(job.help)
        del job  # a thread that waits keeps nothing alive (S13)


def _dismiss(offers: SimpleQueue[_Job | None], count: int) -> None:
    for _ in range(count):
        offers.put(None)


class _Job:
    """What is ready, what still waits, and who is at work."""

    def __init__(
        self, works: Sequence[Work], tasks: Tasks, offers: SimpleQueue[_Job | None], helpers: int
    ) -> None:
        self.context = copy_context()  # numpy's error state, and whose training this is
        self._works = works
        self._tasks = tasks
        self._offers = offers
        self._lock = Lock()
        self._waits = list(tasks.waits)
        self._ready = [i for i, count in enumerate(tasks.waits) if not count]
        self._left = len(works)  # tasks that have not been done
        self._helping = 0  # threads that are in a task, without the owner
        self._uninvited = helpers  # threads that neither help nor have been asked to
        self._failures: list[tuple[int, BaseException]] = []
        self._sleeps = False
        self._stopped = False
        self._bell: SimpleQueue[None] = SimpleQueue()

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
            lane = self._tasks.lanes[at]
            self._perform(at)
            with self._lock:
                fresh = self._done(at)
            self._offer(fresh - 1)

    def leave(self) -> None:
        """An interrupt came to the owner: begin no more, and wait for those who are at work."""
        waits = True
        while waits:
            try:
                with self._lock:
                    self._stopped = True
                    self._ready.clear()
                    waits = self._sleeps = bool(self._helping)
                if waits:
                    self._bell.get()
            except KeyboardInterrupt:  # one is on its way already, and buffers are in use until all are out
                continue
        self._failures.clear()

    def finish(self) -> None:
        """Raise what has failed."""
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

    # -- everybody ----------------------------------------------------------------------------------

    def help(self) -> None:
        """Take part as long as something is ready."""
        lane = -1
        while True:
            with self._lock:
                at = self._next(lane)
                if at is None:
                    self._uninvited += 1
                    return
                self._helping += 1
            lane = self._tasks.lanes[at]
            self._perform(at)
            with self._lock:
                self._helping -= 1
                fresh = self._done(at)
                wanted = self._sleeps and (fresh > 1 or (not self._ready and self._over()))
                if wanted:
                    self._sleeps = False
            if wanted:
                self._bell.put(None)
                fresh -= 1
            self._offer(fresh - 1)

    def _next(self, lane: int) -> int | None:
        """A task that is ready, of this lane if there is one; for one who holds the lock."""
        ready = self._ready
        if not ready:
            return None
        lanes = self._tasks.lanes
        for i in range(len(ready) - 1, -1, -1):
            if lanes[ready[i]] == lane:
                return ready.pop(i)
        return ready.pop()

    def _perform(self, at: int) -> None:
        try:
            self._works[at]()
        except BaseException as failure:
            self._failures.append((at, failure))
            del failure

    def _done(self, at: int) -> int:
        """Count a task as done; how many are ready now. For one who holds the lock."""
        if self._failures or self._stopped:
            self._stopped = True
            self._ready.clear()
            return 0
        self._left -= 1
        for x in self._tasks.followers[at]:
            self._waits[x] -= 1
            if not self._waits[x]:
                self._ready.append(x)
        return len(self._ready)

    def _over(self) -> bool:
        return (self._stopped or not self._left) and not self._helping

    def _offer(self, count: int) -> None:
        if count <= 0:
            return
        with self._lock:
            count = min(count, self._uninvited)
            self._uninvited -= count
        for _ in range(count):
            self._offers.put(self)
