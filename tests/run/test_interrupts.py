"""S6 and Ctrl-C: wherever an interrupt comes, all weights and optimizers have changed or none has."""

from __future__ import annotations

import signal
from _thread import interrupt_main
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.run.planned import eager, plain
from tests.run.test_plans_failures import everybody_may_train
from wengert.arrays.changes import Change, carry_out, carry_out_by
from wengert.graph.store import STORE, _inside
from wengert.plugins import SGD


def ctrl_c() -> None:
    """What the terminal does."""
    signal.raise_signal(signal.SIGINT)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a timer that sends signals is POSIX's")
@pytest.mark.parametrize("planned", few([True, False], 1))
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


class TestCarryOut:
    def test_a_loop_of_python_is_left_between_two_changes(self) -> None:
        done: list[int] = []
        with pytest.raises(KeyboardInterrupt):
            _one_by_one(_changes(done))
        assert done == [1]

    def test_no_interrupt_comes_between_changes(self) -> None:
        done: list[int] = []
        with pytest.raises(KeyboardInterrupt):
            carry_out(_changes(done))
        assert done == [1, 2]

    def test_what_stops_the_helpers_leaves_nothing_undone(self) -> None:
        """However many of the parts have been begun, each change is made once, the last ones at the end."""
        for begun in range(4):
            done: list[int] = []

            def run(works: Sequence[Callable[[], object]], begun: int = begun) -> None:
                for work in works[:begun]:
                    work()
                raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                carry_out_by(
                    run, [[(done.append, i), (done.append, i)] for i in range(3)], [(done.append, 3)]
                )
            assert done == [0, 0, 1, 1, 2, 2, 3]


def _one_by_one(changes: Sequence[Change]) -> None:
    for change, *arguments in changes:
        change(*arguments)


def _changes(done: list[int]) -> list[Change]:
    return [(done.append, 1), (interrupt_main, signal.SIGINT), (done.append, 2)]


def _forever(question: Any, executor: Any, seconds: float) -> None:  # Any: a training, an interpreter
    signal.setitimer(
        signal.ITIMER_REAL, seconds, 0.5
    )  # again: one that meets a finalizer is lost, and told of
    try:
        while True:
            question.run(executor)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
