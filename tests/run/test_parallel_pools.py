"""BLAS keeps to one thread while `Parallel` runs, and has its threads back afterwards."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.run.counting import Boom, Counted, unregistered
from wengert.arrays import pools
from wengert.plugins import SGD
from wengert.run import Parallel


def threads() -> int:
    """How many threads BLAS has now."""
    assert pools.BLAS_THREADS is not None
    return pools.BLAS_THREADS[0]()


@pytest.fixture
def three() -> Iterator[None]:
    """Three threads, whatever BLAS had before."""
    if pools.BLAS_THREADS is None:
        pytest.skip("numpy's BLAS is not OpenBLAS")
    before = threads()
    pools.BLAS_THREADS[1](3)
    yield
    pools.BLAS_THREADS[1](before)


@pytest.mark.usefixtures("three")
def test_one_thread_inside_and_as_before_outside() -> None:
    seen: list[int] = []

    def rule(case: Any, x: Any) -> Any:
        seen.append(threads())
        return x * 1.0

    look = unregistered("look", rule, lambda case, g, y, x: g)
    w = SGD(learning_rate=0.1).double_weight(1.0)
    for _ in range(3):
        (look(w * 1.0) + look(w * 2.0)).train().run(Parallel(threads=2))
        assert threads() == 3
    assert seen == [1] * 6


@pytest.mark.usefixtures("three")
def test_as_before_after_a_failure() -> None:
    failing = Counted(forward_failure=Boom)
    w = SGD(learning_rate=0.1).double_weight(1.0)
    with pytest.raises(Boom):
        failing.apply(w * 1.0).predict().run(Parallel(threads=2))
    assert threads() == 3


@pytest.mark.usefixtures("three")
def test_the_last_of_several_puts_them_back() -> None:
    inside, go_on = threading.Barrier(3, timeout=10), threading.Event()

    def rule(case: Any, x: Any) -> Any:
        inside.wait()
        if x > 1.0:
            go_on.wait(10)
        return x * 1.0

    waits = unregistered("waits", rule, lambda case, g, y, x: g)
    w = SGD(learning_rate=0.1).double_weight(1.0)
    executor = Parallel(threads=2)
    short, long = (waits(w * scale).predict().start(executor) for scale in (1.0, 2.0))
    inside.wait()
    short.result(10)
    assert threads() == 1
    go_on.set()
    long.result(10)
    assert threads() == 3


def test_another_blas_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "BLAS_THREADS", None)
    w = SGD(learning_rate=0.1).double_weight(2.0)
    assert (w * 1.0).predict().run(Parallel(threads=2)) == 2.0
