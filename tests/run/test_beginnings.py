"""Binds and branches of `gather` that begin together under `Parallel`, and the order in which they go on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

import pytest

import wengert as wg
from tests.run.counting import Boom, barrier, left
from wengert import Do, DoubleLayer, gather
from wengert.errors import Failures
from wengert.graph.store import STORE
from wengert.plugins import SGD
from wengert.run import Parallel, Sequential


def weight(value: float = 1.0) -> wg.DoubleWeight:
    return SGD(learning_rate=0.125).double_weight(value)


@wg.differentiable
async def meeting(meet: Callable[[], object], x: DoubleLayer) -> DoubleLayer:
    meet()
    a = await x
    return x * a


def test_binds_that_meet_finish() -> None:
    w, twin = weight(3.0), weight(3.0)
    for _ in range(10):
        met = barrier()
        loss = meeting(met.wait, w * 2.0) + meeting(met.wait, w * 0.5)
        wanted = (meeting(int, twin * 2.0) + meeting(int, twin * 0.5)).train().run(Sequential())
        assert loss.train().run(Parallel(threads=2)) == wanted
        assert w.data == twin.data
    met = barrier()
    (delta,) = wg.gradients(meeting(met.wait, w * 2.0) + meeting(met.wait, w * 0.5), (w,)).run(Parallel(2))
    assert delta == 4.25 * w.data


def test_binds_of_several_doors_that_meet() -> None:
    met, w = barrier(3), weight()
    delayed = [DoubleLayer(Do.delay(met.wait).flat_map(lambda _: (w * 2.0).forward)) for _ in range(2)]
    loss = delayed[0] * 2.0 + meeting(met.wait, w * 1.0) + delayed[1]
    assert loss.predict().run(Parallel(threads=3)) == 7.0


def test_one_thread_meets_nobody() -> None:
    met, w = threading.Barrier(2, timeout=0.05), weight()
    with pytest.raises(Failures):
        (meeting(met.wait, w * 2.0) + meeting(met.wait, w * 0.5)).predict().run(Parallel(threads=1))


def test_branches_of_a_gather_that_meet() -> None:
    met, executor, w = barrier(), Parallel(threads=2), weight(2.0)

    def branch(x: Any) -> Do[float]:  # Any: a layer
        return Do.delay(met.wait).flat_map(lambda _: x.predict())

    assert gather(branch(w * 2.0), branch(w * 3.0)).run(executor) == (4.0, 6.0)

    @wg.differentiable
    async def chosen() -> DoubleLayer:
        a, b = await gather(branch(w * 2.0), branch(w * 3.0))
        return w * a if a > b else w * b

    assert chosen().train().run(executor) == 12.0
    assert w.data == 2.0 - 0.125 * 6.0


def test_what_shares_is_asked_once() -> None:
    calls: list[int] = []
    w = weight(2.0)
    shared = Do.delay(lambda: calls.append(1)).flat_map(lambda _: (w * 2.0).forward).shared()
    layers = [DoubleLayer(Do.now(None).flat_map(lambda _: shared)) for _ in range(4)]
    assert sum(layers[1:], layers[0] * 1.0).train().run(Parallel(threads=2)) == 16.0
    assert (calls, w.data) == ([1], 2.0 - 0.125 * 8.0)


@pytest.mark.parametrize("executor", [Parallel(threads=2), Sequential()])
def test_resources_recovery_and_nesting_survive_the_change_of_machines(executor: Any) -> None:
    events: list[str] = []
    w = weight(2.0)

    def asking(name: str) -> Do[Any]:  # Any: tapes
        def value(_: object) -> Do[Any]:  # Any: tapes
            return (w * 1.0).predict().flat_map(lambda _: Do.fail(Boom()))

        tried = Do.resource(lambda: left(events, f"{name} tried")).flat_map(value)
        recovered = tried.recover(lambda _: (w * 3.0).forward)
        nested = (
            Do.resource(lambda: left(events, f"{name} nested"))
            .flat_map(lambda _: (w * 1.0).predict())
            .nested()
        )
        held = Do.resource(lambda: left(events, f"{name} held"))
        return held.flat_map(lambda _: nested).flat_map(lambda _: recovered)

    before = left(events, "before")
    source = Do.resource(lambda: before).flat_map(
        lambda _: (DoubleLayer(asking("a")) + DoubleLayer(asking("b"))).predict()
    )
    assert source.run(executor) == 12.0
    assert events == ["a nested", "a tried", "b nested", "b tried", "b held", "a held", "before"]


def test_several_failures_are_one_group_and_nothing_changes() -> None:
    met, w = barrier(), weight()

    def fail() -> None:
        met.wait()
        raise Boom

    with pytest.raises(Failures) as failure:
        (meeting(fail, w * 2.0) + meeting(fail, w * 3.0)).train().run(Parallel(threads=2))
    assert [type(x) for x in failure.value.exceptions] == [Boom, Boom]
    assert all(any(__file__ in note for note in x.__notes__) for x in failure.value.exceptions)
    assert w.data == 1.0
    parts = [Do.delay(fail), Do.delay(fail)]
    with pytest.raises(Failures):
        gather(*parts).run(Parallel(threads=2))


@pytest.mark.parametrize("stop", [KeyboardInterrupt, None])
def test_a_run_that_stops_lets_go_of_what_has_begun(stop: type[BaseException] | None) -> None:
    """An interrupt in the first to go on, and a cancellation while both are at work."""
    met, go_on, released = barrier(3), threading.Event(), list[int]()
    begun = list[int]()
    w = weight()

    def wait() -> None:
        if stop is None:
            met.wait()
            go_on.wait(10)

    def interrupted(i: int) -> Do[Any]:  # Any: tapes
        if stop is not None and i == 0:
            return (w * 1.0).predict().flat_map(lambda _: Do.delay(interrupt))
        return (w * 1.0).forward

    def interrupt() -> None:
        raise KeyboardInterrupt

    def held(i: int) -> Any:  # Any: a context manager
        begun.append(i)
        return left(released, i)

    def layer(i: int) -> DoubleLayer:
        waits = Do.resource(lambda: held(i)).flat_map(lambda _: Do.delay(wait))
        return DoubleLayer(waits.flat_map(lambda _: interrupted(i)))

    question = (layer(0) + layer(1)).train()
    if stop is not None:
        with pytest.raises(stop):
            question.run(Parallel(threads=2))
    else:
        started = question.start(Parallel(threads=2))
        met.wait()
        started.cancel()
        go_on.set()
        with pytest.raises(CancelledError):
            started.result(10)
    assert sorted(released) == sorted(begun)
    assert begun if stop is not None else sorted(begun) == [0, 1]
    assert w.data == 1.0
    assert not STORE.readers
    assert w.train().run() == 1.0
