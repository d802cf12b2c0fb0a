"""S13 and D203: with the cycle collector off nothing of a run outlives it."""

from __future__ import annotations

import tracemalloc
import weakref
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pytest

import wengert as wg
from wengert import ArrayLayer, Do
from wengert.extend import Elementwise
from wengert.plugins import SGD, Adam, LearningRate

from .counting import Boom, Counted, failing

pytestmark = pytest.mark.usefixtures("collector_off")

T = TypeVar("T")


class Settings(Adam, LearningRate): ...


@wg.differentiable
async def gated(x: ArrayLayer) -> ArrayLayer:
    return x * 2.0 if (await wg.sum(x)) > 0 else -x


@wg.differentiable
async def broken(x: ArrayLayer) -> ArrayLayer:
    await x
    raise Boom("in the bind")


def by_hand(x: ArrayLayer[tuple[()]]) -> Do[object]:
    def send(tape: wg.Tape[object, np.ndarray[tuple[()], np.dtype[np.float32]]]) -> Do[None]:
        return Do.delay(lambda: tape.backward(Do.now(np.ones((), np.float32))).run())

    return x.forward.flat_map(send)


failed_forward: Elementwise = failing()
failed_backward: Elementwise = failing(backward=True)

# Each a question about a loss, asked anew for each step.
QUESTIONS: dict[str, Callable[[ArrayLayer], Do[object]]] = {
    "predict": lambda h: h.predict(),
    "train": lambda h: wg.sum(h).train(),
    "gradients": lambda h: wg.gradients(wg.sum(h), (h,)),
    "train on a penalty": lambda h: steepness(h).train(),
    "train through a bind": lambda h: wg.sum(gated(h)).train(),
    "train through a bind that stands twice": lambda h: wg.sum((g := gated(h)) * g).train(),
    "train through a layer of one Do that stands twice": lambda h: wg.sum(twice(h.forward)).train(),
    "train through a product": lambda h: wg.sum(
        ArrayLayer(wg.gather(h.forward, h.forward).map(first))
    ).train(),
    "predict through a bind": lambda h: gated(h).predict(),
    "gradients through a bind": lambda h: wg.gradients(wg.sum(gated(h)), (h,)),
    "backward by hand": lambda h: by_hand(wg.sum(h)),
    "failing forward": lambda h: wg.sum(failed_forward(h)).train(),
    "failing backward": lambda h: wg.sum(failed_backward(h)).train(),
    "failing bind": lambda h: wg.sum(broken(h)).train(),
    "two failing binds": lambda h: wg.sum(broken(h) + broken(h)).predict(),
    "failing by hand": lambda h: by_hand(wg.sum(broken(h))),
    "a failure recovered": lambda h: broken(h).predict().recover(lambda _: Do.now(None)),
}


def steepness(h: ArrayLayer) -> ArrayLayer[tuple[()]]:
    """A function of a derivative."""
    (slope,) = wg.gradients(wg.sum(wg.tanh(h)), (h,)).layers
    return wg.sum(slope * slope)


def twice(do: Do[T]) -> ArrayLayer:
    """The sum of two layers of one `Do`."""
    tape: Do[Any] = do  # Any: a tape of arrays
    return ArrayLayer(tape) + ArrayLayer(tape)


def first(tapes: tuple[T, T]) -> T:
    return tapes[0]


@pytest.mark.parametrize("name", QUESTIONS)
class TestS13:
    """Nothing of a run is alive after it; memory does not grow."""

    def test_no_data_of_the_run_alive(self, name: str) -> None:
        watched = Counted()
        w = SGD(learning_rate=0.01).array_weight(np.ones((3, 2), np.float32))
        with suppress(Boom, ExceptionGroup):
            QUESTIONS[name](watched.apply(w * 1.0)).run()
        alive = [weakref.ref(array) for array in watched.forward + watched.backward]
        watched.forward.clear()
        watched.backward.clear()
        assert alive
        assert [ref() for ref in alive] == [None] * len(alive)

    def test_memory_does_not_grow(self, name: str) -> None:
        """Kept arrays would be 16 kB a step; free lists of the interpreter take what the limit leaves."""
        w = Settings(learning_rate=0.001).array_weight(np.ones((64, 64), np.float32))

        def step() -> None:
            with suppress(Boom, ExceptionGroup):
                QUESTIONS[name](w * 1.0).run()

        assert growth(step, 100) < 300_000


@pytest.mark.slow  # about 2 s
def test_1000_training_steps_grow_by_less_than_1_megabyte() -> None:
    settings = Settings(learning_rate=0.001)
    w = settings.array_weight(np.ones((32, 64), np.float32))
    v = settings.array_weight(np.ones((64, 4), np.float32))
    x = np.ones((16, 32), np.float32)

    def step() -> None:
        hidden = gated(wg.tanh(x @ w))
        wg.mean(wg.square(hidden @ v - 1.0)).train().run()

    assert growth(step, 1000) < 1_000_000


def test_a_tape_that_somebody_keeps_keeps_no_run() -> None:
    watched = Counted()
    w = SGD(learning_rate=0.01).array_weight(np.ones((3, 2), np.float32))
    tape = watched.apply(w * 1.0).forward.map(lambda tape: tape).run()
    alive = [weakref.ref(array) for array in watched.forward]
    watched.forward.clear()
    assert alive
    assert [ref() for ref in alive] == [None] * len(alive)
    del tape


def growth(step: Callable[[], None], steps: int) -> int:
    """Bytes that `steps` steps add to what Python and numpy hold: three times what a third of them adds at least.

    A leak is in each third. A program that is made late, when the clock says so, is in one of them; and so is a table
    of interned kinds that is written anew as entries come and go, of which tracemalloc has not seen the old one: with
    3,000 kinds alive, which other tests have left, that is 270 kB at once.
    """
    for _ in range(40):
        step()
    tracemalloc.start()
    try:
        held = [tracemalloc.get_traced_memory()[0]]
        for _ in range(3):
            for _ in range(steps // 3):
                step()
            held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    return 3 * min(after - before for before, after in pairwise(held))


def test_a_leak_is_found_and_a_table_that_grows_once_is_none() -> None:
    kept: list[bytes] = []
    assert growth(lambda: kept.append(bytes(4000)), 99) > 396_000
    steps = iter(range(200))

    def step() -> None:
        if next(steps) in (45, 90):
            kept.append(bytes(1_000_000))

    assert growth(step, 99) < 10_000
