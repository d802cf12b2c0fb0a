"""S6 and Ctrl-C: wherever an interrupt comes, all weights and optimizers have changed or none has."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest
from wengert.graph.interrupts import Uninterrupted

import wengert as wg
from tests.run.attacked import OPTIMIZERS
from tests.run.counting import state_of
from tests.run.planned import eager, plain
from tests.run.test_plans_failures import Scene, everybody_may_train
from wengert.graph.store import STORE, _inside
from wengert.plugins import SGD
from wengert.run import commit as commits


def ctrl_c() -> None:
    """What the terminal does."""
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def heard() -> Iterator[list[int]]:
    """The calls of a handler of the user's that raises nothing."""
    calls: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        calls.append(number)

    before = signal.signal(signal.SIGINT, handler)
    yield calls
    assert signal.getsignal(signal.SIGINT) is handler
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_in_a_plan_between_the_changes(optimizer: str) -> None:
    scene = Scene(optimizer)
    for at in range(scene.settles + 1, len(scene.lines)):
        scene, other = Scene(optimizer), Scene(optimizer)
        other.step(plain())
        scene.broken(at, ctrl_c)
        with pytest.raises(KeyboardInterrupt):
            scene.step(scene.executor)
        np.testing.assert_allclose(
            np.concatenate([np.ravel(w.data) for w in scene.weights]),
            np.concatenate([np.ravel(w.data) for w in other.weights]),
            rtol=1e-12,
        )
        assert [state_of(w) for w in scene.weights] == [state_of(w) for w in other.weights]
        assert everybody_may_train()
        assert not STORE.readers


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_in_the_commit_of_the_interpreter(optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before each change of a weight."""
    stepped = commits.stepped

    def interrupted(update: Any, written: set[int]) -> Callable[..., Any]:  # Any: as `stepped`
        change = stepped(update, written)

        def slow(*given: Any) -> Any:  # Any: as a change
            ctrl_c()
            return change(*given)

        return slow

    scene, other = Scene(optimizer), Scene(optimizer)
    other.step(plain())
    monkeypatch.setattr(commits, "stepped", interrupted)
    with pytest.raises(KeyboardInterrupt):
        scene.step(plain())
    monkeypatch.undo()
    assert scene.state() == other.state()
    assert everybody_may_train()
    assert not STORE.readers


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a timer that sends signals is POSIX's")
@pytest.mark.parametrize("planned", [True, False])
@np.errstate()  # an interrupt on the way into or out of such a scope, numpy's own too, leaves what is set there
def test_at_any_time(planned: bool) -> None:
    """A timer interrupts wherever it happens to; both weights are at the same step each time."""
    settings = SGD(learning_rate=1.0)
    w, v = settings.array_weight(np.zeros(4)), settings.array_weight(np.zeros(4))
    question = (wg.sum(w * -1.0) + wg.sum(v * -1.0)).train()
    executor = eager()[0] if planned else plain()
    question.run(
        executor
    )  # what the first plan imports, nobody interrupts: Python would leave its files open
    before = signal.signal(signal.SIGALRM, lambda number, frame: ctrl_c())
    try:
        for round_ in range(1500):
            with pytest.raises(KeyboardInterrupt):
                _forever(question, executor, 1e-6 + (round_ % 97) * 1e-6)
            assert set(w.data.tolist()) == set(v.data.tolist())
            assert len(set(w.data.tolist())) == 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert everybody_may_train()
    assert not STORE.readers
    assert not _inside.get(), "whoever comes next would not wait for others"


class TestUninterrupted:
    def test_without_it_an_interrupt_comes_between(self) -> None:
        done: list[int] = []
        with pytest.raises(KeyboardInterrupt):
            done.extend(_two_steps(done))
        assert done == [1]

    def test_with_it_the_interrupt_comes_afterwards(self) -> None:
        done: list[int] = []
        with pytest.raises(KeyboardInterrupt), Uninterrupted():
            done.extend(_two_steps(done))
        assert done == [1, 2]

    def test_a_handler_of_the_users_is_called_once_and_stays(self, heard: list[int]) -> None:
        with Uninterrupted(), Uninterrupted():
            ctrl_c()
            ctrl_c()
            assert heard == []
        assert heard == [signal.SIGINT]

    def test_a_failure_is_the_context_of_the_interrupt(self) -> None:
        with pytest.raises(KeyboardInterrupt) as caught:
            _failing_meanwhile()
        assert isinstance(caught.value.__context__, ValueError)

    def test_one_who_ignores_interrupts_goes_on_to_ignore_them(self) -> None:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with Uninterrupted():
                ctrl_c()
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        finally:
            signal.signal(signal.SIGINT, before)

    def test_another_thread_leaves_handlers_alone(self, heard: list[int]) -> None:
        found: list[Any] = []  # Any: a handler

        def work() -> None:
            with Uninterrupted():
                found.append(signal.getsignal(signal.SIGINT))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert found == [signal.getsignal(signal.SIGINT)]
        assert heard == []


def _two_steps(done: list[int]) -> list[int]:
    done.append(1)
    ctrl_c()
    return [2]


def _failing_meanwhile() -> None:
    with Uninterrupted():
        ctrl_c()
        raise ValueError("no room")


def _forever(question: Any, executor: Any, seconds: float) -> None:  # Any: a training, an interpreter
    signal.setitimer(signal.ITIMER_REAL, seconds)
    while True:
        question.run(executor)
