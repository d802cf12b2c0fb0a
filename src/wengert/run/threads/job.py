"""A job: tasks that the threads of a crew run as soon as nothing keeps them waiting; its owner is one of them.

Knows: counts of what each task waits for, that a task may give more of them, and that a job is over only when no
thread is in it any more.
Refuses to know: what a task does, and where threads come from. A task that fails ends the job: those that have
begun still finish.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from queue import SimpleQueue
from threading import Lock
from time import perf_counter
from typing import TypeAlias

from wengert.errors import combine
from wengert.run.threads.partition import Tasks

Work: TypeAlias = Callable[[], object]


class More(list[Work]):
    """What a task gives that has others begin; the first of them is the next."""


class Job:
    """What is ready, what still waits, and who is at work. `call` asks so many threads for help."""

    def __init__(self, works: Sequence[Work], tasks: Tasks, call: Callable[[int], object]) -> None:
        self.context = copy_context()  # numpy's error state, and whose training this is
        self.begun = perf_counter()
        self.open = False  # to others
        self.helped = False  # somebody else has done something
        self._call = call
        self._works = [*works]
        self._lanes = [*tasks.lanes]
        self._waits = [*tasks.waits]
        self._followers = tasks.followers
        self._lock = Lock()
        self._ready = [i for i, count in enumerate(tasks.waits) if not count]
        self._left = len(works)  # tasks that have not been done
        self._helping = 0  # threads that are in a task, without the owner
        self._failures: list[tuple[int, BaseException]] = []
        self._sleeps = False
        self._stopped = False
        self._bell: SimpleQueue[None] = SimpleQueue()

    @property
    def waiting(self) -> int:
        """How many tasks could begin now."""
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
            more = self._perform(at)
            with self._lock:
                fresh = self._done(at, more)
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
            except BaseException:  # one is on its way already, and buffers are in use until all are out
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
                    return
                self._helping += 1
                self.helped = True
            lane = self._lanes[at]
            more = self._perform(at)
            with self._lock:
                self._helping -= 1
                fresh = self._done(at, more)
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

    def _done(self, at: int, more: object) -> int:
        """Count a task as done; how many are ready now. For one who holds the lock."""
        if self._failures or self._stopped:
            self._stopped = True
            self._ready.clear()
            return 0
        self._left -= 1
        for work in reversed(more) if isinstance(more, More) else ():
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
