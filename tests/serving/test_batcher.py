"""Requests that wait together are one run: bounds, failures, cancellation, weights that change meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ArgumentError, DataError, OverloadedError, ShapeError
from wengert.nn import Linear, TreeLSTM
from wengert.plugins import SGD
from wengert.serving import Batcher, Served

A = TypeVar("A")
SETTINGS = SGD(learning_rate=0.1)
MODEL = Linear.make(SETTINGS, 3, 2, seed=0)
X = np.random.default_rng(0).standard_normal((40, 3)).astype(np.float32)


def answer(x: Any) -> wg.Do[Any]:
    return MODEL(x).predict()


def with_batcher(
    work: Callable[[Batcher[Any, Any]], Coroutine[Any, Any, A]], **options: Any
) -> tuple[A, Served]:
    """What the work gives with a batcher of `answer`, and the counts after it."""
    function = options.pop("function", answer)

    async def main() -> tuple[A, Served]:
        async with Batcher(function, **options) as batcher:
            found = await work(batcher)
        return found, batcher.served

    return asyncio.run(main())


async def all_of(batcher: Batcher[Any, Any], requests: Any = X) -> list[Any]:
    return await asyncio.gather(*[batcher(x) for x in requests], return_exceptions=True)


def test_requests_that_wait_together_are_one_run_with_their_own_answers() -> None:
    found, served = with_batcher(all_of, window=0.05)
    assert served == Served(requests=40, failures=0, runs=1)
    for x, y in zip(X, found, strict=True):
        assert np.allclose(y, answer(x).run(), atol=1e-6)


def test_a_run_has_at_most_so_many_requests() -> None:
    _, served = with_batcher(all_of, window=0.05, limit=16)
    assert served == Served(requests=40, failures=0, runs=3)


def test_trees_of_different_shapes_are_one_run() -> None:
    lstm = TreeLSTM.make(SETTINGS, 3, 4, seed=0)

    def root(shape: Any) -> Any:
        return lstm.leaf(X[shape]) if isinstance(shape, int) else lstm.node(root(shape[0]), root(shape[1]))

    trees = [0, (1, 2), ((3, 4), 5), (6, (7, (8, 9))), ((10, 11), (12, 13))]
    function = lambda tree: root(tree)[0].predict()  # noqa: E731 # as a user writes it
    found, served = with_batcher(lambda b: all_of(b, trees), function=function, window=0.05)
    assert served.runs == 1
    for tree, y in zip(trees, found, strict=True):
        assert np.allclose(y, root(tree)[0].predict().run(), atol=1e-6)


def test_requests_that_come_while_a_run_is_busy_are_joined_after_it() -> None:
    begun, free = threading.Event(), threading.Event()

    def slow(x: Any) -> wg.Do[Any]:
        begun.set()
        assert free.wait(10)
        return answer(x)

    async def work(batcher: Batcher[Any, Any]) -> None:
        first = asyncio.ensure_future(batcher(X[0]))
        await asyncio.to_thread(begun.wait)
        others = [asyncio.ensure_future(batcher(x)) for x in X[1:9]]
        await asyncio.sleep(0.01)
        free.set()
        await asyncio.gather(first, *others)

    _, served = with_batcher(work, function=slow, window=0.0)
    assert served == Served(requests=9, failures=0, runs=2)


def test_a_request_fails_alone_when_it_is_built_and_when_it_runs() -> None:
    def function(x: Any) -> wg.Do[Any]:
        return wg.Do.fail(DataError("no such digit")) if x[0] == 7.0 else answer(x)

    bad = np.full(3, 7.0, np.float32)
    requests = [X[0], np.ones(4, np.float32), bad, X[1]]
    found, served = with_batcher(lambda b: all_of(b, requests), function=function, window=0.05)
    assert served == Served(requests=4, failures=2, runs=1)
    assert isinstance(found[1], ShapeError) and isinstance(found[2], DataError)
    assert np.allclose(found[0], answer(X[0]).run()) and np.allclose(found[3], answer(X[1]).run())


def test_a_function_that_gives_a_layer_is_told_what_to_write() -> None:
    (found,), _ = with_batcher(lambda b: all_of(b, X[:1]), function=MODEL)
    assert isinstance(found, ArgumentError) and "layer.predict()" in str(found) and "ArrayLayer" in str(found)


def test_more_than_may_wait_are_refused_and_the_others_answered() -> None:
    found, served = with_batcher(all_of, window=0.05, waiting=30)
    refused = [x for x in found if isinstance(x, OverloadedError)]
    assert len(refused) == 10 and served.requests == 30
    assert "30 requests wait already" in str(refused[0])


def test_a_request_that_is_cancelled_before_its_run_is_not_computed() -> None:
    built: list[float] = []

    def function(x: Any) -> wg.Do[Any]:
        built.append(float(x[0]))
        return answer(x)

    async def work(batcher: Batcher[Any, Any]) -> None:
        left, right = (asyncio.ensure_future(batcher(x)) for x in X[:2])
        await asyncio.sleep(0)
        left.cancel()
        await right
        assert left.cancelled()

    with_batcher(work, function=function, window=0.05)
    assert built == [float(X[1][0])]


def test_a_request_waits_no_longer_than_its_timeout() -> None:
    free = threading.Event()

    def stuck(x: Any) -> wg.Do[Any]:
        assert free.wait(10)
        return answer(x)

    async def work(batcher: Batcher[Any, Any]) -> None:
        with pytest.raises(TimeoutError):
            await batcher(X[0])
        free.set()

    with_batcher(work, function=stuck, timeout=0.05)


def test_what_was_accepted_is_answered_before_the_end_and_nothing_is_accepted_after_it() -> None:
    async def main() -> None:
        batcher = Batcher(answer, window=0.02)
        waiting = [asyncio.ensure_future(batcher(x)) for x in X[:5]]
        await asyncio.sleep(0)
        await batcher.close()
        assert all(task.done() and task.exception() is None for task in waiting)
        with pytest.raises(ArgumentError, match="closed"):
            await batcher(X[0])

    asyncio.run(main())
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("wengert-serving")]


def test_no_answer_is_torn_between_old_and_new_weights() -> None:
    a, b = (SETTINGS.array_weight(np.zeros(3), name=name) for name in "ab")
    done = threading.Event()

    def change() -> None:
        for i in range(300):
            wg.assign({a: np.full(3, float(i)), b: np.full(3, float(-i))}).run()
        done.set()

    async def work(batcher: Batcher[Any, Any]) -> int:
        thread, seen = threading.Thread(target=change), 0
        thread.start()
        while not done.is_set():
            for y in await all_of(batcher, X[:4]):
                assert not np.any(y), "a sum of weights of two commits"
                seen += 1
        thread.join()
        return seen

    seen, _ = with_batcher(work, function=lambda x: (a + b).predict(), window=0.0)
    assert seen >= 4


@pytest.mark.parametrize(
    ("name", "value"), [("limit", 0), ("waiting", -1), ("timeout", 0.0), ("window", -0.1)]
)
def test_bounds_that_make_no_sense_are_refused(name: str, value: float) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(ArgumentError, match=f"{name} is .*; got {value}"):
        Batcher(answer, **options)
