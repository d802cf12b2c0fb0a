"""S2 and S10 under stress: trainings and predictions over shared nodes on four threads, which take turns as often as
they can."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError
from time import sleep
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import Do
from wengert.arrays.changes import carry_out
from wengert.control import Executor
from wengert.graph.store import Store
from wengert.plugins import SGD
from wengert.run import Batched, Parallel, Sequential

from .counting import Counted

pytestmark = pytest.mark.usefixtures("switching_fast")
THREADS = 4
EXECUTORS: dict[str, Callable[[], Executor]] = {
    "interpreted": lambda: Sequential(compiled=False),
    "planned": Sequential,
    "parallel": lambda: Parallel(2),
    "batched": Batched,
}


def stressed(executor: Executor, rounds: int) -> None:
    """In a round each thread trains once on one expression: what it is made of, and what is left of it, are exact."""
    counted, opened = Counted(), list[int]()
    settings = SGD(learning_rate=1.0)
    w, a = settings.double_weight(0.0), settings.array_weight(np.zeros(3))
    shared = counted.apply(w * 1.0)  # three uses, one value and one delta a run
    loss = shared + shared * 2.0 + wg.sum(a * shared) * 0.0 + wg.sum(a)
    both = wg.predict((w, a))
    once = Do.delay(lambda: opened.append(1)).shared()
    barrier = Barrier(THREADS)

    def work() -> None:
        try:
            for _ in range(rounds):
                barrier.wait(60.0)
                loss.train().run(executor)
                x, y = both.run(executor)
                assert (y * 3.0 == x).all(), "half an update"
                once.flat_map(lambda _: once).run(executor)
        except BrokenBarrierError:  # another one has failed
            pass
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(THREADS) as pool:
        for future in [pool.submit(work) for _ in range(THREADS)]:
            future.result(600.0)
    runs = rounds * THREADS
    assert counted.calls == (runs, runs)
    assert set(counted.backward) == {3.0}
    assert w.data == -3.0 * runs
    assert a.data.tolist() == [-float(runs)] * 3
    assert len(opened) == runs


@pytest.mark.parametrize("name", EXECUTORS)
def test_nothing_is_evaluated_twice_and_no_update_is_lost(name: str) -> None:
    stressed(EXECUTORS[name](), 20)


@pytest.mark.nightly
@pytest.mark.parametrize("name", EXECUTORS)
def test_nor_in_two_thousand_rounds(name: str) -> None:
    stressed(EXECUTORS[name](), 2_000)


def test_the_stress_finds_trainings_that_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def unlocked(store: Store, snapshot: int, changes: Any, besides: Any) -> None:  # Any: as in the store
        made = [(cell, change(cell.data, False)[0]) for cell, change in changes]
        sleep(0.001)  # others commit now
        carry_out([*store.replaced(made, store.others(snapshot)), *besides])

    monkeypatch.setattr(Store, "training", Store.reading)
    monkeypatch.setattr(Store, "publish", unlocked)
    with pytest.raises(AssertionError):
        stressed(EXECUTORS["interpreted"](), 20)
