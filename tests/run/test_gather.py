"""Branches of `gather` that overlap in their plain form: layers, tapes, data, functions; forward and backward."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.counting import Boom, Counted, barrier, registry_kept, unregistered
from tests.run.divided import switching
from wengert import Do, DoubleLayer, gather
from wengert.errors import Failures
from wengert.plugins import SGD
from wengert.run import Batched, Parallel, Sequential
from wengert.run.batching import executor as batching

Branch = Callable[[DoubleLayer], Any]  # Any: a layer, or a Do of a tape or of data
BRANCHES: dict[str, Branch] = {
    "layers": lambda x: x,
    "tapes": lambda x: x.forward.map(lambda tape: tape.data),
    "data": lambda x: x.predict(),
    "trainings": lambda x: x.train(),
    "gathers": lambda x: gather(x, x * 2.0).map(lambda both: both[0]),
    "found in the run": lambda x: Do.now(x).flat_map(lambda x: x.as_do()),
}


def weights(count: int = 2) -> list[wg.DoubleWeight]:
    settings = SGD(learning_rate=0.125)
    return [settings.double_weight(float(i + 2)) for i in range(count)]


def meeting(count: int = 2, back: int = 0) -> Any:  # Any: an operation
    """The identity, whose rules wait until `count` are in the one, and `back` in the other."""
    forth, home = barrier(count), barrier(back or 1)
    return apart(lambda case, x: (forth.wait(), x * 1.0)[1], lambda case, g, y, x: (home.wait(), g)[1])


def apart(rule: Any, derivative: Any) -> Any:  # Any: rules, and an operation
    """An operation without a batching rule, so that each row is a call."""
    with registry_kept():

        @wg.extend.operation(wg.extend.kinds.elementwise, rule, derivative)
        def meet(x: Any, /) -> Any:
            raise NotImplementedError

    return meet


def executors(threads: int = 2) -> list[Any]:  # Any: interpreters
    return [Parallel(threads), Parallel(threads, compiled=False), Batched(threads=threads)]


@pytest.mark.parametrize("branch", BRANCHES.values(), ids=BRANCHES)
@pytest.mark.parametrize("executor", executors(), ids=["plans", "nodes", "batches"])
class TestTogether:
    def test_operations_of_both_branches_meet(self, branch: Branch, executor: Any) -> None:
        if isinstance(executor, Batched) and branch is BRANCHES["trainings"]:
            pytest.skip("of several trainings of one batch all but the first go back node by node")
        meet, (a, b), (c, d) = meeting(), weights(), weights()
        for _ in range(3):
            expected = gather(branch(c * 2.0), branch(d * 3.0)).run(Sequential())
            assert gather(branch(meet(a * 2.0)), branch(meet(b * 3.0))).run(executor) == expected
            assert (a.data, b.data) == (c.data, d.data)

    def test_they_meet_in_a_function(self, branch: Branch, executor: Any) -> None:
        meet, (a, b), (c, d) = meeting(), weights(), weights()

        @wg.differentiable
        async def larger(x: DoubleLayer, y: DoubleLayer) -> DoubleLayer:
            u, v = map(float, await gather(branch(x), branch(y)))
            return x * u if u > v else y * v

        if branch is BRANCHES["trainings"]:
            pytest.skip("a training in a training waits for its turn")
        for _ in range(3):
            expected = larger(c * 2.0, d * 3.0).train().run(Sequential())
            assert larger(meet(a * 2.0), meet(b * 3.0)).train().run(executor) == expected
            assert (a.data, b.data) == (c.data, d.data)


@wg.differentiable
async def waiting(x: DoubleLayer, wait: Callable[[], object]) -> DoubleLayer:
    """Waits between two questions."""
    y = await (x * 2.0)
    wait()
    return x * y * await x


@pytest.mark.parametrize("branch", BRANCHES.values(), ids=BRANCHES)
def test_functions_meet_between_their_questions(branch: Branch) -> None:
    (a, b), (c, d) = weights(), weights()
    if branch is BRANCHES["trainings"]:
        pytest.skip("a training has its turn only")
    for _ in range(10):
        expected = gather(branch(waiting(c * 1.0, int)), branch(waiting(d * 1.0, int))).run(Sequential())
        for executor in (Parallel(2), Batched(threads=2)):
            wait = barrier().wait
            found = gather(branch(waiting(a * 1.0, wait)), branch(waiting(b * 1.0, wait))).run(executor)
            assert found == expected


@wg.differentiable
async def deeper(x: DoubleLayer, depth: int, wait: Callable[[], object]) -> DoubleLayer:
    """Waits after some questions, the last one of another function's."""
    for _ in range(depth):
        x = await waiting(x * 0.5, int) * x if depth > 2 else x * await x
    wait()
    return x * await (x * 2.0)


@wg.differentiable
async def outer(x: DoubleLayer, depth: int, wait: Callable[[], object]) -> DoubleLayer:
    """Asks some questions, and then has another function wait."""
    for _ in range(depth):
        x = x * 1.5
        await x
    return deeper(x, 0, wait) * 0.5


@pytest.mark.parametrize("function", [deeper, outer])
@pytest.mark.parametrize(("left", "right"), [(0, 1), (1, 0), (0, 3), (4, 1), (3, 3)])
@pytest.mark.parametrize("index", range(3), ids=["plans", "nodes", "batches"])
def test_functions_of_unlike_depth_meet(
    index: int, left: int, right: int, function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "_PATIENCE", 0.005)  # fibers that have stopped wait so long at each depth
    (a, b), (c, d), executor = (
        weights(),
        weights(),
        executors()[index],
    )  # which knows nothing of these functions
    for _ in range(3):
        expected = gather(function(c * 1.0, left, int), function(d * 1.0, right, int)).run(Sequential())
        wait = barrier().wait
        both = function(a * 1.0, left, wait), function(b * 1.0, right, wait)
        assert gather(*both).run(executor) == expected
        wait = barrier().wait
        loss = function(a * 0.25, left, wait) + function(b * 0.25, right, wait)
        same = function(c * 0.25, left, int) + function(d * 0.25, right, int)
        assert loss.train().run(executor) == same.train().run(Sequential())
        assert (a.data, b.data) == (c.data, d.data)


def test_a_function_that_fails_while_another_lasts() -> None:
    (a, b), met = weights(), threading.Event()

    @wg.differentiable
    async def lasting(x: DoubleLayer) -> DoubleLayer:
        assert met.wait(5.0)
        return x * await x

    @wg.differentiable
    async def failing(x: DoubleLayer) -> DoubleLayer:
        await (x * 2.0)
        met.set()
        raise Boom

    for executor in executors():
        met.clear()
        with pytest.raises(Boom):
            gather(lasting(a * 1.0), failing(b * 1.0)).run(executor)


def test_what_follows_a_layer_meets() -> None:
    (a, b), met = weights(), barrier()

    def branch(x: DoubleLayer) -> Do[float]:
        return x.forward.map(lambda tape: (met.wait(), tape.data)[1])

    for executor in executors():
        for _ in range(10):
            assert gather(branch(a * 1.0), branch(b * 1.0)).run(executor) == (2.0, 3.0)


def test_a_layer_and_what_is_none_meet() -> None:
    (a, _), met = weights(), barrier()
    meet = unregistered("meet", lambda case, x: (met.wait(), x * 1.0)[1], lambda case, g, y, x: g)
    assert gather(meet(a), Do.delay(met.wait).map(bool)).run(Parallel(2))[0] == 2.0


def test_rows_without_a_batching_rule_meet() -> None:
    (a, _), forth, back = weights(), barrier(), barrier()
    meet = apart(lambda case, x: (forth.wait(), x * 1.0)[1], lambda case, g, y, x: (back.wait(), g)[1])
    loss = meet(a * 2.0) + meet(a * 3.0)
    for executor in executors():
        assert loss.train().run(executor) == 5.0 * (a.data + 0.125 * 5.0)


@pytest.mark.parametrize("count", [3, 7])
def test_any_number_meets(count: int) -> None:
    meet, some = meeting(count), weights(count)
    assert gather(*(meet(w * 1.0) for w in some)).run(Parallel(count)) == tuple(w.data for w in some)


def test_deltas_of_both_branches_meet() -> None:
    meet, (a, b), (c, d) = meeting(back=2), weights(), weights()

    def lasting(x: float) -> float:
        threading.Event().wait(0.005)
        return x

    @wg.differentiable
    async def both(x: DoubleLayer, y: DoubleLayer, wait: Callable[[float], float]) -> DoubleLayer:
        u, v = await gather(x, y)
        return x * wait(u) + y * v

    for _ in range(3):
        loss = both(meet(a * 2.0), meet(b * 3.0), lasting).train().run(Parallel(2))
        assert loss == both(c * 2.0, d * 3.0, float).train().run(Sequential())
        assert (a.data, b.data) == (c.data, d.data)


def test_a_branch_that_fails_does_not_stop_the_other() -> None:
    (a, b), f, other = weights(), Counted("f"), Counted("other")
    f.forward_failure = Boom
    for executor in (Sequential(), *executors()):
        with pytest.raises(Boom) as failure:
            gather(f.apply(a), other.apply(b * 1.0)).run(executor)
        assert any(__file__ in note for note in failure.value.__notes__)
        with pytest.raises(Failures):
            gather(f.apply(a), f.apply(b * 1.0)).run(executor)
    assert other.calls == (1 + len(executors()), 0)


def test_what_both_branches_need_is_computed_once_and_trained_in_order() -> None:
    f, (a, _), (c, _) = Counted("f"), weights(), weights()
    shared, twin = f.apply(a * 3.0), c * 3.0
    with switching():
        for runs in range(1, 6):
            found = gather((shared * 0.1).train(), shared, (shared * 0.7).train()).run(Parallel(2))
            assert found == gather((twin * 0.1).train(), twin, (twin * 0.7).train()).run(Sequential())
            assert a.data == c.data
            assert f.calls == (runs, 2 * runs)


def test_random_branches_have_the_bits_of_one_thread() -> None:
    chance = np.random.default_rng(0)
    settings = SGD(learning_rate=1e-3)
    data = [chance.standard_normal((8, 8)).astype(np.float32) for _ in range(4)]
    slow = unregistered("slow", lambda case, x: x * 1.0, lambda case, g, y, x: g * 1.0)

    def trained(executor: Any) -> list[bytes]:  # Any: an interpreter
        some = [settings.array_weight(x.copy()) for x in data]

        @wg.differentiable
        async def mixed(k: int) -> wg.ArrayLayer:
            u, v = await gather(wg.sum(slow(some[k] @ some[k - 1])), wg.sum(slow(some[k - 2] * 0.5)))
            return slow(some[k]) @ some[k - 1] * (0.25 if u > v else -0.5)

        for _ in range(4):
            parts = [wg.mean(mixed(k)) for k in range(4)]
            gather(*(x.train() for x in parts), *parts).run(executor)
        return [w.data.tobytes() for w in some]

    with switching():
        assert trained(Parallel(3)) == trained(Sequential())
