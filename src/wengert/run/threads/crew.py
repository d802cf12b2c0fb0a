"""Threads that help with jobs beside the callers' own.

Knows: that waking a thread takes longer than a small job, so that a job of which nobody knows whether it is small
is opened to others only when it has lasted a while; that who waits for work keeps nothing alive (S13).
Refuses to know: what a job consists of.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from queue import SimpleQueue
from threading import Lock, Thread
from time import perf_counter, sleep, thread_time
from typing import Final

from wengert.run.threads.job import Job, Work
from wengert.run.threads.partition import Tasks

PATIENCE: Final = 2e-3  # seconds until a young job is opened: help costs 0.2 ms, more where cores are busy
_LOOK: Final = 1e-3  # seconds between two looks at young jobs
_LOOKS: Final = 100  # in vain, until nobody looks any more


class Crew:
    """`threads - 1` threads beside each caller's own; they begin with the first job and end with the crew."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._floor = _Floor(0)
        self._home = 0  # the process in which the threads live: a fork has none

    def run(self, works: Sequence[Work], tasks: Tasks, young: bool = False) -> bool:
        """Run `works`, one for each of `tasks`; several failures come as one, in the order of the tasks.

        A work may give more works, which can begin. A `young` job gets help only when it has lasted for a while.
        The answer is whether nobody did help, and it was small.
        """
        if self._home != os.getpid():
            self._begin()
        floor = self._floor
        job, begun = Job(works, tasks, floor.call), thread_time()
        try:
            floor.enter(job, young)
            job.conduct()
        except BaseException:  # an interrupt: those who help use what the caller is about to let go of
            try:
                job.leave()
            except BaseException:  # and another one
                job.leave()
            raise
        finally:
            try:
                floor.leave(job)
            except BaseException:
                floor.leave(job)
                raise
        job.finish()
        return not job.helped and thread_time() - begun < PATIENCE

    def _begin(self) -> None:
        with _beginning:
            if self._home == os.getpid():
                return
            self._floor = floor = _Floor(self.threads - 1)
            for i in range(1, self.threads):
                Thread(target=_help, args=(floor,), name=f"wengert-crew-{i}", daemon=True).start()
            weakref.finalize(self, floor.dismiss)
            self._home = os.getpid()


class _Floor:
    """What the threads of a crew share: the jobs that go on, and calls for help."""

    def __init__(self, helpers: int) -> None:
        self.calls: SimpleQueue[bool] = SimpleQueue()  # False: the crew is gone
        self._helpers = helpers
        self._lock = Lock()
        self._open: list[Job] = []
        self._young: list[Job] = []
        self._called = 0  # calls that nobody has heard yet
        self._watched = False  # somebody looks at young jobs

    def enter(self, job: Job, young: bool) -> None:
        """A job begins."""
        if young and self._helpers:
            self._young.append(job)
            if not self._watched:
                self.call(1)
        else:
            job.open = True
            self._open.append(job)

    def leave(self, job: Job) -> None:
        """It is over."""
        with self._lock:
            for jobs in (self._open, self._young):
                if job in jobs:
                    jobs.remove(job)

    def call(self, count: int) -> None:
        """Wake so many threads, unless as many are on their way."""
        with self._lock:
            self._ask(count)

    def _ask(self, count: int) -> None:
        """The same for one who holds the lock."""
        for _ in range(min(count, self._helpers - self._called)):
            self._called += 1
            self.calls.put(True)

    def dismiss(self) -> None:
        """No thread is needed any more."""
        for _ in range(self._helpers):
            self.calls.put(False)

    def heard(self) -> None:
        """A thread has come because of a call."""
        with self._lock:
            self._called -= 1

    def needy(self) -> Job | None:
        """A job with something to do; for this one thread stays and looks, as long as young jobs come and go."""
        looks = 0
        while True:
            with self._lock:
                found = next((job for job in self._open if job.waiting), None)
                if found is not None:
                    self._ask(found.waiting - 1 + bool(self._young))  # somebody else has to look
                if found is not None or self._watched or looks > _LOOKS:
                    return found
                self._watched = True
            sleep(_LOOK)
            with self._lock:
                looks = 0 if self._young else looks + 1
                self._watched = False
                self._grow(perf_counter() - PATIENCE)

    def _grow(self, before: float) -> None:
        """Open the jobs that have begun `before`; for one who holds the lock."""
        for job in [job for job in self._young if job.begun < before]:
            self._young.remove(job)
            self._open.append(job)
            job.open = True


_beginning = Lock()  # of all crews: a process that is forked has one that nobody holds


def _forked() -> None:
    global _beginning
    _beginning = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _help(floor: _Floor) -> None:
    while floor.calls.get():
        floor.heard()
        while (job := floor.needy()) is not None:
            job.context.copy().run(job.help)
            del job
