"""Questions that read and have a plan are answered without a machine, as every other run answers them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.planned import untimed
from wengert.control import replace_executors, running, running_here
from wengert.control.machine import Machine
from wengert.graph.store import STORE
from wengert.plugins import SGD
from wengert.run import sequential

WARM = 40  # runs, after which a small structure has its plan, whatever the clock says


class NoMachineError(Exception):
    """A run with a machine."""


def _refuse(run: object) -> Machine:
    raise NoMachineError


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings with rules and no watcher that another test of this process keeps: beside these a machine runs."""
    monkeypatch.setattr(sequential, "BROUGHT", {})
    monkeypatch.setattr(sequential, "WATCHERS", {})


@pytest.fixture
def weight() -> wg.ArrayWeight[tuple[int], np.float64]:
    return SGD(learning_rate=0.5).array_weight(np.array([1.0, 2.0], np.float64))


def _warmed(x: Any, executor: wg.run.Sequential) -> Any:  # Any: an expression and its data
    untimed(executor)
    for _ in range(WARM):
        x.predict().run(executor)
    return x.predict().run(executor)


def refusing() -> tuple[Any, list[bool]]:  # Any: an operation
    """An operation that refuses what is above 4, and whether a run was there at each of its calls."""
    calls: list[bool] = []

    @wg.extend.elementwise(lambda case, g, y, h: g)
    def small(case: wg.extend.Case, h: Any) -> Any:  # Any: an array of any library
        calls.append(running_here())
        if (h > 4.0).any():
            raise ValueError("above 4")
        return h

    return small, calls


def test_a_prediction_with_a_plan_needs_no_machine(
    weight: wg.ArrayWeight[tuple[int], np.float64], monkeypatch: pytest.MonkeyPatch
) -> None:
    executor, x = wg.run.Sequential(), wg.tanh(weight * 2.0)
    before = _warmed(x, executor)
    monkeypatch.setattr(running, "Machine", _refuse)
    np.testing.assert_array_equal(x.predict().run(executor), before)
    assert not STORE.readers
    with pytest.raises(NoMachineError):
        x.predict().map(np.sum).run(executor)
    np.testing.assert_array_equal(x.predict(at={weight: np.zeros(2)}).run(executor), np.zeros(2))
    with pytest.raises(NoMachineError):
        x.predict().map(np.sum).run(executor)


@pytest.mark.parametrize("also", [False, True])
def test_a_training_with_a_plan_needs_no_machine(
    weight: wg.ArrayWeight[tuple[int], np.float64], also: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor, twin = wg.run.Sequential(), SGD(learning_rate=0.5).array_weight(weight.data)

    def step(w: wg.ArrayWeight[tuple[int], np.float64]) -> wg.Do[Any]:  # Any: with values beside it, or none
        h = wg.tanh(w * 2.0)
        return wg.train(wg.sum(h), also=(h,)) if also else wg.train(wg.sum(h))

    ours, other = step(weight), step(twin)
    untimed(executor)
    for _ in range(WARM):
        ours.run(executor)
        other.run(wg.run.Sequential(compiled=False))
    found = ours.map(lambda x: x).run(executor)  # with a machine
    wanted = [other.run(wg.run.Sequential(compiled=False)) for _ in range(2)]
    monkeypatch.setattr(running, "Machine", _refuse)
    again = ours.run(executor)
    for x, y in zip((found, again), wanted, strict=True):
        assert np.asarray(x[0] if also else x).tobytes() == np.asarray(y[0] if also else y).tobytes()
    if also:
        assert again[1][0].tobytes() == wanted[1][1][0].tobytes()
    assert weight.data.tobytes() == twin.data.tobytes()
    assert not STORE.readers
    with pytest.raises(NoMachineError):
        ours.map(lambda x: x).run(executor)


def test_a_training_that_is_refused_changes_nothing_and_is_told_by_the_interpreter(
    weight: wg.ArrayWeight[tuple[int], np.float64],
) -> None:
    small, calls = refusing()
    executor, question = wg.run.Sequential(), wg.sum(small(weight * 1.0) * 0.0).train()
    untimed(executor)
    for _ in range(WARM):
        question.run(executor)
    wg.assign({weight: np.array([5.0, 6.0])}).run()
    calls.clear()
    with pytest.raises(ValueError, match="above 4") as caught:
        question.run(executor)
    assert any("small" in note for note in caught.value.__notes__)
    assert calls == [True, True]
    assert weight.data.tolist() == [5.0, 6.0]
    assert not STORE.readers
    question = wg.sum(weight).train()
    question.run(executor)  # nobody holds the right to train
    assert weight.data.tolist() == [4.5, 5.5]


def test_other_executors_are_asked_in_its_place(
    weight: wg.ArrayWeight[tuple[int], np.float64], monkeypatch: pytest.MonkeyPatch
) -> None:
    executor, x = wg.run.Sequential(), wg.tanh(weight * 2.0)
    _warmed(x, executor)
    monkeypatch.setattr(running, "Machine", _refuse)
    before = replace_executors(lambda usual: usual)
    try:
        with pytest.raises(NoMachineError):
            x.predict().run(executor)
    finally:
        replace_executors(before)
    with pytest.raises(NoMachineError):
        x.predict().run(wg.run.Batched())


def test_it_sees_the_latest_weights_and_gives_arrays_of_its_own(
    weight: wg.ArrayWeight[tuple[int], np.float64],
) -> None:
    executor, x = wg.run.Sequential(), wg.lift(weight)
    found = _warmed(x, executor)
    found[:] = 7.0
    assert weight.data.tolist() == [1.0, 2.0]
    wg.assign({weight: np.array([3.0, 4.0])}).run()
    assert x.predict().run(executor).tolist() == [3.0, 4.0]


def test_a_failure_is_told_by_the_interpreter_and_its_rule_called_twice(
    weight: wg.ArrayWeight[tuple[int], np.float64],
) -> None:
    small, calls = refusing()
    executor, x = wg.run.Sequential(), small(weight * 1.0) + 0.0
    _warmed(x, executor)
    wg.assign({weight: np.array([5.0, 6.0])}).run()
    calls.clear()
    with pytest.raises(ValueError, match="above 4") as caught:
        x.predict().run(executor)
    assert any("small" in note for note in caught.value.__notes__)
    assert calls == [True, True]
    assert not STORE.readers
