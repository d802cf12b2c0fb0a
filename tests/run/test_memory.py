"""Memory follows need: a prediction holds what is still read, and making a plan takes no more than a step."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.run.planned import eager
from wengert.extend import elementwise
from wengert.graph.order import last_readers
from wengert.plugins import SGD
from wengert.run import Parallel, Sequential
from wengert.run.evaluation import Reach

SIZE = 200_000
Layer = wg.ArrayLayer[Any, Any, Any]  # Any: the shape is the operand's


def at_known_runs(threads: int = 1) -> Any:
    """The default executor, or one with threads; a structure gets its plan at the eighth run, whatever that takes."""
    executor: Any = Parallel(threads) if threads > 1 else Sequential()
    getattr(executor, "inner", executor).engine.plans.account = None
    return executor


EXECUTORS: dict[str, Callable[[], Any]] = {  # Any: executors share no public type
    "compiled": at_known_runs,
    "interpreted": lambda: Sequential(compiled=False),
    "two threads": lambda: at_known_runs(2),
    "two threads, interpreted": lambda: Parallel(threads=2, compiled=False),
}
executors = pytest.mark.parametrize("executor", few(EXECUTORS, 1))


def weight() -> Any:
    return SGD(learning_rate=0.0).array_weight(np.full(SIZE, 0.5, np.float64))


def chain(x: Any, length: int) -> Any:
    for _ in range(length):
        x = x + 1.0
    return x


def peak(run: Callable[[], object]) -> float:
    """The most memory, in arrays."""
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1] / (8 * SIZE)
    finally:
        tracemalloc.stop()


def peaks(build: Callable[[], Any], executor: str, runs: int = 10) -> list[float]:
    """Of predictions that are built anew: the eighth makes a plan, the ninth is the first by it."""
    by = EXECUTORS[executor]()
    return [peak(lambda: build().predict().run(by)) for _ in range(runs)]


@executors
def test_a_long_chain_takes_three_arrays(executor: str) -> None:
    w = weight()
    assert max(peaks(lambda: wg.sum(chain(w, 100)), executor)) <= 3


@executors
def test_a_value_stays_until_its_last_reader(executor: str) -> None:
    w = weight()

    def build() -> Any:
        first = wg.tanh(w)
        return wg.sum(chain(first, 30) * first)

    assert 2 < max(peaks(build, executor)) < 5
    by = EXECUTORS[executor]()
    first = np.tanh(w.data)
    for _ in range(10):
        assert build().predict().run(by) == pytest.approx(float(np.sum((first + 30.0) * first)))


@executors
def test_within_cells(executor: str) -> None:
    w = weight()

    @wg.cell
    def inner(x: Layer) -> Layer:
        found: Layer = chain(x, 20)
        return found

    @wg.cell
    def outer(x: Layer) -> Layer:
        found: Layer = chain(inner(chain(x, 20)), 20)
        return found

    assert max(peaks(lambda: wg.sum(outer(w)), executor)) < 5


@executors
def test_a_cell_that_gives_a_number_holds_nothing(executor: str) -> None:
    w = weight()

    @wg.cell
    def number(x: Layer) -> wg.ArrayLayer[tuple[()], Any, Any]:
        found: wg.ArrayLayer[tuple[()], Any, Any] = wg.sum(chain(x, 20))
        return found

    assert max(peaks(lambda: number(w) + number(w), executor)) < 4


@executors
def test_between_binds(executor: str) -> None:
    w = weight()

    @wg.differentiable
    async def net(x: Layer) -> Layer:
        h = chain(x, 20)
        if await wg.sum(h) > 0.0:
            h = chain(h, 20)
        found: Layer = chain(h, 20)
        return found

    assert max(peaks(lambda: wg.sum(chain(net(chain(w, 20)), 20)), executor)) < 7


@executors
def test_what_an_async_function_has_passed_goes(executor: str) -> None:
    w = weight()

    @wg.differentiable
    async def net(x: Layer) -> Layer:
        h = x
        for _ in range(25):
            h = h + 1.0
            await wg.sum(h)
        return h

    assert max(peaks(lambda: wg.sum(net(w)), executor)) < 8


@executors
def test_what_an_async_function_still_has_is_not_computed_twice(executor: str) -> None:
    calls: list[int] = []

    def counted(case: object, x: Any) -> Any:
        calls.append(1)
        return x + 1.0

    step = elementwise(lambda case, g, y, x: g)(counted)
    w = weight()

    @wg.differentiable
    async def net(x: Layer) -> Layer:
        kept, h = [], x
        for _ in range(10):
            h = step(step(h))
            kept.append(h)
            await wg.sum(wg.tanh(h))
        del h
        total = kept[0]
        for h in kept[1:]:
            await wg.sum(h)
            total = total + h
        return total

    by = EXECUTORS[executor]()
    for _ in range(10):
        calls.clear()
        assert wg.max(net(w)).predict().run(by) == pytest.approx(sum(0.5 + 2 * i for i in range(1, 11)))
        assert len(calls) == 20


@executors
def test_training_takes_the_values_once(executor: str) -> None:
    w = weight()
    by = EXECUTORS[executor]()
    found = [peak(lambda: wg.sum(chain(w, 30)).train().run(by)) for _ in range(9)]
    assert max(found) < 36


@executors
def test_gradients_take_the_values_once(executor: str) -> None:
    w = weight()
    by = EXECUTORS[executor]()

    def run() -> object:
        x = chain(w, 15)
        return wg.gradients(wg.sum(chain(x, 15)), (w, x)).run(by)

    assert max(peak(run) for _ in range(9)) < 38


def test_a_rule_that_fails_says_what_it_was_given() -> None:
    @elementwise(lambda case, g, y, x: g)
    def failing(case: object, x: Any) -> Any:
        raise ZeroDivisionError

    w = weight()
    for executor in EXECUTORS.values():
        with pytest.raises(ZeroDivisionError) as caught:
            wg.sum(chain(failing(chain(w, 5)), 5)).predict().run(executor())
        assert any("failing" in note and f"({SIZE},) float64" in note for note in caught.value.__notes__)


def test_a_program_lets_go_of_what_has_no_buffer() -> None:
    """Rules of others give arrays of their own, which only names in the program hold."""

    @elementwise(lambda case, g, y, x: g)
    def own(case: object, x: Any) -> Any:
        return x * 0.5

    w = weight()
    executor, _ = eager()

    def build() -> Any:
        x = w
        for _ in range(30):
            x = own(x)
        return wg.sum(x)

    for _ in range(3):
        assert peak(lambda: build().predict().run(executor)) < 4


def test_last_readers() -> None:
    x = weight() * 2.0
    y = wg.tanh(x)
    z = x + y
    assert last_readers([x, y, z], [z]) == {z: [x, y]}
    assert last_readers([x, y, z]) == {z: [x, y, z]}
    assert last_readers([x, y], [x]) == {y: [y]}


def test_reach_finds_who_is_held() -> None:
    w = weight()
    nodes = [wg.tanh(w)]
    nodes.append(wg.exp(nodes[0]))
    table = dict.fromkeys(nodes)
    assert Reach().held(nodes[:]) == nodes  # by the other list and the table
    del table
    assert Reach().held(nodes) == []
    held = nodes[0]
    reach, again = Reach(), Reach()
    assert reach.held(nodes) == [held]
    assert again.held(nodes) == [held]
    del again
    assert reach.left([]) == []  # it has not been computed
    table = dict.fromkeys(nodes)
    assert reach.left(nodes) == []
    reach = Reach()
    assert reach.held(nodes[:]) == nodes
    del held
    assert reach.left(nodes) == [*table]
