"""Workers of Ray as the pool sees them, on a Ray that does what each test says, and a clock that it moves."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from wengert.cluster.rays import WorkerHandle, WorkerPool
from wengert.errors import ClusterError


class RayError(Exception):
    """An actor has died."""


class InitError(RayError):
    """A process is there, and cannot read what its actor is."""

    actor_init_failed = True


class Ref:
    """An answer: not there, there, or a failure."""

    def __init__(self) -> None:
        self.there = False
        self.at = 0.0
        self.failure: RayError | None = None


class Ray:
    """Machines, and actors on them."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self) -> None:
        self.machines: dict[str, int] = {"a": 2}
        self.begun: list[tuple[str, Ref]] = []
        self.killed: list[Any] = []  # Any: actors
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    time = monotonic

    def nodes(self) -> list[dict[str, object]]:
        there: list[dict[str, object]] = [
            {"NodeID": x, "Alive": True, "Resources": {"CPU": n}} for x, n in self.machines.items()
        ]
        return [*there, {"NodeID": "gone", "Alive": False, "Resources": {"CPU": 8}}]

    def remote(self, cls: type) -> Any:  # Any: as Ray's classes
        return SimpleNamespace(options=self._options)

    def _options(self, *, num_cpus: int, scheduling_strategy: str) -> Any:  # Any: as above
        ref = Ref()
        actor = SimpleNamespace(call=SimpleNamespace(remote=lambda function, args: ref))
        self.begun.append((scheduling_strategy, ref))
        return SimpleNamespace(remote=lambda: actor)

    def wait(self, refs: list[Ref], *, timeout: float) -> tuple[list[Ref], list[Ref]]:
        return [x for x in refs if x.there], [x for x in refs if not x.there]

    def get(self, ref: Ref) -> float:
        if ref.failure:
            raise ref.failure
        return ref.at

    def kill(self, actor: Any) -> None:  # Any: as above
        self.killed.append(actor)


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Ray:
    made = Ray()
    strategies = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node_id, soft: node_id)
    monkeypatch.setattr("wengert.cluster.rays._ray", lambda: made)
    monkeypatch.setattr("wengert.cluster.rays.import_module", lambda name: strategies)
    monkeypatch.setattr("wengert.cluster.rays.time", made)
    return made


def given(worker: WorkerHandle | None) -> Future[None]:
    """A message to a worker."""
    assert worker is not None
    future = Future[None]()
    worker.unanswered.add(future)
    return future


def test_nothing_is_sent_to_a_worker_before_it_has_begun(ray: Ray) -> None:
    pool = WorkerPool()
    assert pool.count() == 2 and pool.free() is None and len(pool.starting()) == 2
    ray.begun[1][1].there = True
    first = pool.free()
    assert first is not None and len(pool.starting()) == 1
    given(first)
    assert pool.free() is first  # it takes two
    given(first)
    assert pool.free() is None
    ray.begun[0][1].there = True
    assert pool.free() not in (None, first)


def test_a_worker_that_cannot_begin_is_begun_again_when_machines_are_looked_at_next(ray: Ray) -> None:
    pool = WorkerPool()
    pool.count()
    ray.begun[0][1].there, ray.begun[0][1].failure = True, RayError("killed")
    assert pool.free() is None and pool.count() == 2 and len(ray.begun) == 2
    ray.now = 1.0
    assert pool.count() == 2 and len(ray.begun) == 3


def test_a_machine_without_this_code_is_told(ray: Ray) -> None:
    pool = WorkerPool()
    pool.count()
    ray.begun[0][1].there, ray.begun[0][1].failure = (
        True,
        InitError("The actor died\nNo module named 'wengert'"),
    )
    with pytest.raises(
        ClusterError, match="could not begin: No module named 'wengert'; install the same code"
    ):
        pool.free()


def test_a_worker_that_takes_too_long_to_begin_is_replaced(ray: Ray) -> None:
    pool = WorkerPool()
    pool.count()
    ray.begun[0][1].there = True
    assert pool.free() is not None
    ray.now = 6.0
    assert pool.count() == 2 and len(ray.begun) == 3 and len(ray.killed) == 1
    ray.now = 15.0  # the second one has twice the time
    assert pool.count() == 2 and len(ray.begun) == 3
    ray.now = 17.0
    assert pool.count() == 2 and len(ray.begun) == 4 and len(ray.killed) == 2


def test_time_to_begin_is_that_of_the_last_that_has(ray: Ray) -> None:
    pool = WorkerPool()
    pool.count()
    ray.now = 6.0  # the limit is 10 from here on
    pool.count()
    ray.begun[2][1].there, ray.begun[2][1].at = True, 7.0
    ray.now = 14.0  # heard of late
    assert pool.free() is not None
    ray.now = 15.0
    pool.count()
    assert len(ray.begun) == 5, "5 seconds are over for the other one, since the first took 1"
    ray.begun[4][1].there, ray.begun[4][1].at = True, 24.0  # 9 seconds
    ray.now = 24.2
    assert pool.free() is not None
    ray.now = 25.0
    pool.count()
    begun = len(ray.begun)
    ray.now = 42.0
    pool.count()
    assert len(ray.begun) == begun == 6, "a spare one has 18 seconds"
    ray.now = 44.0
    pool.count()
    assert len(ray.begun) == begun + 1


def test_workers_of_a_machine_go_with_it_and_come_with_another(ray: Ray) -> None:
    pool = WorkerPool()
    pool.count()
    ray.machines = {"b": 1}
    assert pool.count() == 2  # known a moment later
    ray.now = 1.0
    assert pool.count() == 1 and len(ray.killed) == 2 and ray.begun[-1][0] == "b"
    ray.machines, ray.now = {}, 2.0
    assert pool.count() == 0 and pool.free() is None


def test_a_spare_worker_begins_after_the_others_and_takes_the_place_of_one_that_is_gone(ray: Ray) -> None:
    pool = WorkerPool()
    pool.count()
    ray.begun[0][1].there = ray.begun[1][1].there = True
    first = pool.free()
    assert first is not None and len(ray.begun) == 2
    ray.now = 1.0
    assert pool.count() == 2 and len(ray.begun) == 3
    ray.begun[2][1].there = True
    given(first)
    second = pool.free()
    given(second)
    assert second not in (None, first) and pool.free() is not None
    given(first)
    given(second)
    assert pool.free() is None, "a spare one gets nothing"
    pool.replace(first)
    spare = pool.free()
    assert spare not in (None, first, second) and spare is not None and not spare.unanswered
    assert len(ray.begun) == 4, "and has a successor"


def test_the_worker_that_has_answered_last_is_asked_first(ray: Ray) -> None:
    pool = WorkerPool()
    pool.count()
    ray.begun[0][1].there = ray.begun[1][1].there = True
    first = pool.free()
    given(first)
    second = pool.free()
    assert first is not None and second is not None and second is not first
    for x, heard in ((first, 2.0), (second, 1.0)):
        x.unanswered.clear()
        x.heard = heard
    assert pool.free() is first
    second.heard = 3.0
    assert pool.free() is second


def test_a_spare_worker_that_has_stopped_is_replaced_before_it_is_needed(ray: Ray) -> None:
    pool = WorkerPool()
    pool.count()
    ray.begun[0][1].there = ray.begun[1][1].there = True
    first = pool.free()
    given(first)
    ray.now = 1.0
    pool.count()
    ray.begun[2][1].there = True
    assert first is not None and pool.free() is not None and len(pool.starting()) == 0
    ray.begun[2][1].there = False  # it answers no more
    ray.now = 2.0
    pool.count()
    ray.now = 4.0
    pool.count()
    assert not ray.killed and len(ray.begun) == 3
    ray.now = 4.6
    pool.count()
    assert len(ray.killed) == 1 and len(ray.begun) == 4
    assert first.unanswered and first.check is None, "one that computes is not asked"


def test_a_spare_worker_that_has_died_is_replaced_before_it_is_needed(ray: Ray) -> None:
    ray.machines = {"a": 1}
    pool = WorkerPool()
    pool.count()
    ray.begun[0][1].there = True
    assert pool.free() is not None
    ray.now = 1.0
    pool.count()
    ray.begun[1][1].there = True
    assert pool.free() is not None and len(ray.begun) == 2
    ray.begun[1][1].failure = RayError("killed")
    ray.now = 2.0
    pool.count()
    ray.now = 2.6
    pool.count()
    assert len(ray.begun) == 3 and len(pool.starting()) == 1


def test_a_worker_that_does_not_say_that_it_is_there_is_sent_a_message_last(ray: Ray) -> None:
    pool = WorkerPool()
    pool.count()
    ray.begun[0][1].there = ray.begun[1][1].there = True
    first = pool.free()
    given(first)
    second = pool.free()
    assert first is not None and second is not None
    for of, ref in ((first, ray.begun[0][1]), (second, ray.begun[1][1])):
        ref.there = of is first  # the other one has stopped, with nothing to do
    ray.now = 1.0
    pool.count()
    ray.now = 2.0
    assert pool.free() is first, "although it has something to do"
    given(first)
    assert pool.free() is second, "better than nobody"
    ray.begun[1][1].there = ray.begun[0][1].there = True
    first.unanswered.clear()
    given(first)
    assert pool.free() is second and second.heard == 2.0


def test_a_late_worker_gets_nothing_more_and_ends_when_nobody_waits_for_it(ray: Ray) -> None:
    ray.machines = {"a": 1}
    pool = WorkerPool()
    pool.count()
    ray.begun[0][1].there = True
    late = pool.free()
    future = given(late)
    assert late is not None
    pool.replace(late)
    pool.replace(late)
    assert len(ray.begun) == 2 and pool.free() is None and not ray.killed
    ray.begun[1][1].there = True
    assert pool.free() not in (None, late)
    pool.answered(late, future)
    assert ray.killed == [late.actor]
