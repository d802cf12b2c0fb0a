"""A schedule keeps every order that matters, and a pool of threads keeps the schedule."""

from __future__ import annotations

import gc
import os
import random
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from wengert.errors import Failures
from wengert.run.threads.pool import Job, Spawned, TaskSchedule, ThreadPool, schedule

ONE = TaskSchedule(((0,),), (0,), ((),), (0,), 0.0)
FORK = TaskSchedule(((0,), (1,), (2,)), (0, 0, 2), ((2,), (2,), ()), (0, 1, 0), 0.0)


class Boom(Exception): ...


def drawn(seed: int) -> tuple[list[tuple[int, ...]], list[float]]:
    """What each of some items needs, and what it costs."""
    chance = random.Random(seed)
    count = chance.randint(0, 60)
    before = [tuple(set(chance.sample(range(i), min(i, chance.randint(0, 3))))) for i in range(count)]
    return before, [chance.choice([0.1, 1.0, 5.0, 50.0]) for _ in range(count)]


def broken(tasks: TaskSchedule, before: list[tuple[int, ...]]) -> list[int]:
    """Items that may run before one that they need, by what the tasks wait for."""
    done: set[int] = set()
    waits = list(tasks.waits)
    ready = [at for at, count in enumerate(waits) if not count]
    wrong = []
    while ready:
        at = ready.pop()
        for item in tasks.parts[at]:
            wrong += [item] if not done.issuperset(before[item]) else []
            done.add(item)
        for follower in tasks.followers[at]:
            waits[follower] -= 1
            ready += [follower] if not waits[follower] else []
    return wrong if len(done) == len(before) else [-1]


class TestSchedule:
    @pytest.mark.parametrize("threads", [1, 2, 4])
    def test_all_items_once_in_an_order_that_works(self, threads: int) -> None:
        for seed in range(40):
            before, costs = drawn(seed)
            for handoff in (0.0, 2.0, 10.0):
                tasks = schedule(before, costs, threads, handoff)
                assert sorted(i for part in tasks.parts for i in part) == list(range(len(before)))
                assert not broken(tasks, before)

    def test_the_check_of_orders_finds_a_wrong_one(self) -> None:
        assert broken(TaskSchedule(((0,), (1,)), (0, 0), ((), ()), (0, 1), 0.0), [(), (0,)]) == [1]
        assert broken(TaskSchedule(((0,),), (1,), ((),), (0,), 0.0), [()]) == [-1]

    def test_one_thread_is_one_task(self) -> None:
        for seed in range(50):
            before, costs = drawn(seed)
            tasks = schedule(before, costs, 1, 2.0)
            assert len(tasks.parts) <= 1
            assert tasks.span == pytest.approx(sum(costs))

    def test_two_long_branches_overlap_and_two_short_ones_do_not(self) -> None:
        before = [(), (0,), (), (2,), (1, 3)]
        long = schedule(before, [50.0] * 4 + [1.0], 2, 5.0)
        assert long.span < 120.0
        assert {long.lanes[0], long.lanes[1]} == {0, 1}
        short = schedule(before, [1.0] * 5, 2, 5.0)
        assert short.parts == ((0, 1, 2, 3, 4),)

    @pytest.mark.slow
    def test_a_long_chain_needs_no_stack(self) -> None:
        count = 100_000
        before = [()] + [(i,) for i in range(count - 1)]
        assert schedule(before, [0.0] * count, 2, 1.0).parts == (tuple(range(count)),)


class TestCrew:
    def test_tasks_that_meet(self) -> None:
        pool, met, log = ThreadPool(2), threading.Barrier(2, timeout=10), []

        def meet() -> None:
            met.wait()
            log.append("met")

        for _ in range(100):
            pool.run([meet, meet, lambda: log.append("after")], FORK)
        assert log == ["met", "met", "after"] * 100

    def test_a_failure_stops_what_waits_and_several_are_one(self) -> None:
        pool, met, log = ThreadPool(2), threading.Barrier(2, timeout=10), []

        def fails(text: str) -> Callable[[], None]:
            def work() -> None:
                met.wait()
                raise Boom(text)

            return work

        with pytest.raises(Failures) as failure:
            pool.run([fails("a"), fails("b"), lambda: log.append("after")], FORK)
        assert [str(x) for x in failure.value.exceptions] == ["a", "b"]
        with pytest.raises(Boom, match="c"):
            pool.run([lambda: None, fails_alone, lambda: log.append("after")], FORK)
        assert not log

    @pytest.mark.parametrize("where", [0, 1])
    def test_an_interrupt_waits_for_those_at_work(self, where: int) -> None:
        pool, met, log = ThreadPool(2), threading.Barrier(2, timeout=10), []

        def interrupted() -> None:
            met.wait()
            raise KeyboardInterrupt

        def slow() -> None:
            met.wait()
            time.sleep(0.05)
            log.append("slow")

        works = [slow, slow, lambda: log.append("after")]
        works[where] = interrupted
        with pytest.raises(KeyboardInterrupt):
            pool.run(works, FORK)
        assert log == ["slow"]

    def test_an_interrupt_of_a_caller_who_waits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pool, log, begun = ThreadPool(2), [], threading.Event()

        def slow() -> None:
            begun.set()
            time.sleep(0.05)
            log.append("slow")

        class Bell:  # the signal handler of Python raises in the thread that waits
            rings = 0

            def get(self) -> None:
                Bell.rings += 1
                if Bell.rings < 3:
                    raise KeyboardInterrupt
                time.sleep(0.01)

            def put(self, item: None) -> None: ...

        made = Job.__init__

        def with_bell(self: Any, *arguments: Any) -> None:  # Any: a job, and what it is made of
            made(self, *arguments)
            self._bell = Bell()

        monkeypatch.setattr(Job, "__init__", with_bell)
        with pytest.raises(KeyboardInterrupt):
            pool.run([lambda: begun.wait(10), slow, lambda: log.append("after")], FORK)
        assert log == ["slow"]

    def test_jobs_in_jobs_need_no_more_threads(self) -> None:
        pool, log = ThreadPool(2), []

        def inner() -> None:
            pool.run([lambda: log.append("inner")] * 3, FORK)

        pool.run([inner, inner, inner], FORK)
        assert len(log) == 9

    def test_threads_end_with_the_crew(self) -> None:
        pool = ThreadPool(3)
        pool.run([lambda: None] * 3, FORK)
        mine = [t for t in threading.enumerate() if t.name.startswith("wengert-pool")]
        assert len(mine) >= 2
        before = set(mine)
        del pool
        gc.collect()
        deadline = time.monotonic() + 10.0
        while sum(t.is_alive() for t in before) > len(before) - 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert sum(t.is_alive() for t in before) <= len(before) - 2

    def test_works_that_a_work_gives(self) -> None:
        pool, log = ThreadPool(2), list[int]()

        def work(i: int) -> Spawned:
            log.append(i)
            return Spawned([partial(work, 2 * i), partial(work, 2 * i + 1)] if i < 8 else [])

        for deferred in (False, True):
            log.clear()
            pool.run([partial(work, 1)], ONE, deferred=deferred)
            assert sorted(log) == [*range(1, 16)]

    def test_a_small_young_job_stays_with_its_owner(self) -> None:
        pool, seen = ThreadPool(2), set[int]()
        alone = [
            pool.run([lambda: seen.add(threading.get_ident())] * 3, FORK, deferred=True) for _ in range(50)
        ]
        assert sum(alone) > 25  # others may keep a core busy
        assert threading.get_ident() in seen

    def test_a_young_job_that_lasts_gets_help(self) -> None:
        pool = ThreadPool(2)
        for _ in range(5):
            met = threading.Barrier(2, timeout=10)
            assert not pool.run([met.wait, met.wait, lambda: None], FORK, deferred=True)
            time.sleep(0.3)  # nobody looks any more

    def test_nothing_is_kept_for_threads_that_come_late(self) -> None:
        pool, met, go_on = ThreadPool(2), threading.Barrier(3, timeout=10), threading.Event()

        def busy() -> None:
            met.wait()
            go_on.wait(10)

        other = threading.Thread(target=pool.run, args=([busy, busy, lambda: None], FORK))
        other.start()
        met.wait()
        kept = []
        for deferred in (False, True) * 20:
            data = np.ones(1000)
            kept.append(weakref.ref(data))
            pool.run([partial(data.sum), lambda: None, lambda: None], FORK, deferred=deferred)
            del data
        assert all(ref() is None for ref in kept)
        go_on.set()
        other.join()

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # 3.12 warns wherever threads live
    def test_a_fork_gets_threads_of_its_own(self) -> None:
        pool = ThreadPool(2)
        pool.run([lambda: None] * 3, FORK)
        child = os.fork()
        if not child:
            met = threading.Barrier(2, timeout=10)
            try:
                pool.run([met.wait, met.wait, lambda: None], FORK)
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def fails_alone() -> None:
    raise Boom("c")
