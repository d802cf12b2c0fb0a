"""A run that is cancelled or interrupted changes nothing and releases all (S7, D18)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager

import pytest

from wengert import Do, DoubleLayer
from wengert.plugins import SGD

from .counting import Boom, Counted
from .divided import switching
from .test_all_or_nothing import Pair


class Gate:
    """An operation that waits in the middle of a run until it is let through."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        self.after = Counted("after")

    def wait(self) -> Boom | None:
        self.reached.set()
        assert self.open.wait(10.0), "nobody opened the gate"
        return None


@pytest.fixture(params=["forward", "backward"])
def gated(request: pytest.FixtureRequest) -> tuple[Gate, Callable[[DoubleLayer], DoubleLayer]]:
    """The identity, whose forward or whose backward waits at a gate."""
    gate = Gate()
    part: str = request.param
    counted = Counted("gate", log=_Waiting(gate, f"gate {part}"))
    return gate, lambda x: gate.after.apply(counted.apply(x * 1.0) * 1.0)


class _Waiting(list[str]):
    """A log that waits when a certain line is written to it."""

    def __init__(self, gate: Gate, line: str) -> None:
        super().__init__()
        self.gate, self.line = gate, line

    def append(self, line: str) -> None:
        super().append(line)
        if line == self.line:
            self.gate.wait()


class TestCancellation:
    """A cancelled run commits nothing and releases what it holds (D18)."""

    def test_of_a_future(self, gated: tuple[Gate, Callable[[DoubleLayer], DoubleLayer]]) -> None:
        gate, through = gated
        pair, events = Pair(), list[str]()
        question = through(held(pair.loss(), events)).train()
        future = question.start()
        assert gate.reached.wait(10.0)
        assert future.cancel()
        gate.open.set()
        with pytest.raises(CancelledError):
            future.result(10.0)
        assert events == ["open", "close"]
        assert pair.unchanged()
        question.run()
        assert not pair.unchanged()

    def test_of_a_task(self, gated: tuple[Gate, Callable[[DoubleLayer], DoubleLayer]]) -> None:
        gate, through = gated
        pair, events = Pair(), list[str]()
        question = through(held(pair.loss(), events)).train()

        async def program() -> None:
            async def train() -> float:
                return await question

            task = asyncio.create_task(train())
            while not gate.reached.is_set():
                await asyncio.sleep(0.001)
            task.cancel()
            await asyncio.sleep(0)
            gate.open.set()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(program())
        assert events == ["open", "close"]
        assert pair.unchanged()

    def test_a_keyboard_interrupt_in_the_middle(self) -> None:
        pair, events = Pair(), list[str]()
        interrupting = Counted(log=_Interrupting())
        with pytest.raises(KeyboardInterrupt):
            interrupting.apply(held(pair.loss(), events)).train().run()
        assert events == ["open", "close"]
        assert pair.unchanged()

    def test_a_finished_training_cannot_be_cancelled(self) -> None:
        pair = Pair()
        future = pair.loss().train().start()
        assert future.result(10.0) == 3.0
        assert not future.cancel()
        assert pair.state() != pair.before


class _Interrupting(list[str]):
    def append(self, line: str) -> None:
        raise KeyboardInterrupt


def held(loss: DoubleLayer, events: list[str]) -> DoubleLayer:
    """The same loss, with a resource that its run holds."""

    @contextmanager
    def resource() -> Generator[None]:
        events.append("open")
        try:
            yield
        finally:
            events.append("close")

    return DoubleLayer(Do.resource(resource).flat_map(lambda _: loss.forward))


@pytest.fixture
def fast_switching() -> Iterator[None]:
    """Threads take turns every 10 us, so that one can cancel while another computes."""
    with switching(1e-5):
        yield


@pytest.mark.usefixtures("fast_switching")
def test_d18_a_run_that_says_cancelled_has_not_committed() -> None:
    """Whenever the cancellation comes: before the commit it wins, after the last step it is too late."""
    weight = SGD(learning_rate=1.0).double_weight(0.0)
    outcomes = []
    for round_ in range(60):
        loss = weight * 1.0
        for _ in range(200):
            loss = loss + 1.0
        future = loss.train().start()
        threading.Event().wait(round_ * 2e-5)
        future.cancel()
        wait([future])
        outcomes.append(future.cancelled())
    assert weight.data == -outcomes.count(False)
