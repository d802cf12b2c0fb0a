"""Hyperparameters that change by a schedule or by assignment: steps, plans, failures, files."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.planned import eager
from wengert.errors import PluginError
from wengert.plugins import (
    SGD,
    Adam,
    ClipByGlobalNorm,
    Hyperparameters,
    L2Regularization,
    LearningRate,
    Momentum,
)
from wengert.run import Batched, Parallel, Sequential
from wengert.saving import load, save


class Settings(Hyperparameters, ClipByGlobalNorm, Adam, L2Regularization, LearningRate): ...


class Plain(Hyperparameters, Momentum, LearningRate): ...


EXECUTORS: dict[str, Any] = {
    "interpreter": lambda: Sequential(compiled=False),
    "plans": lambda: eager(worth=2)[0],
    "two threads": lambda: Parallel(threads=2),
    "batched": Batched,
}


def settings() -> Settings:
    return Settings(
        learning_rate=0.1,
        l2=0.0,
        max_norm=1.0,
        schedules={"learning_rate": lambda t: 0.1 / (1 + t), "beta1": lambda t: 0.9 - 0.01 * t},
    )


def loss(w: Any) -> Any:
    return wg.sum(wg.square(w - 1.0))


@pytest.mark.parametrize("name", EXECUTORS)
def test_steps_are_those_of_the_numbers_at_their_time(name: str) -> None:
    executor, s = EXECUTORS[name](), Plain(learning_rate=1.0, schedules={"learning_rate": lambda t: 0.5**t})
    w = s.double_weight(8.0)
    data, velocity = 8.0, 0.0
    for t in range(12):
        if t == 6:
            s.assign(momentum=0.5).run(executor)
        (w * w).train().run(executor)
        velocity = (0.9 if t < 6 else 0.5) * velocity + 2.0 * data
        data -= 0.5**t * velocity
        assert w.data == pytest.approx(data, rel=1e-12)
    assert s.time == 12
    assert s.learning_rate == 0.5**12
    assert s.momentum == 0.5


def test_a_training_goes_on_from_a_file_bit_for_bit() -> None:
    s, file = settings(), BytesIO()
    w = s.array_weight(np.arange(4.0), name="w")
    for _ in range(5):
        loss(w).train().run()
    s.assign(l2=0.01, max_norm=0.5).run()
    save(file, {"w": w})
    for _ in range(5):
        loss(w).train().run()
    again = settings()
    u = again.array_weight(np.zeros(4), name="w")
    load(BytesIO(file.getvalue()), {"w": u})
    assert (again.time, again.l2, again.max_norm, again.beta1) == (5, 0.01, 0.5, 0.9 - 0.05)
    for _ in range(5):
        loss(u).train().run()
    assert (u.data == w.data).all()
    assert again.numbers() == s.numbers()


def test_a_file_whose_numbers_are_lost_is_noticed() -> None:
    """The comparison above would find it: a training that goes on with the first numbers ends elsewhere."""
    s = settings()
    w, u = s.array_weight(np.arange(4.0)), settings().array_weight(np.arange(4.0))
    s.assign(l2=0.5).run()
    for _ in range(3):
        loss(w).train().run()
        loss(u).train().run()
    assert (u.data != w.data).any()


def test_an_assignment_is_part_of_its_run() -> None:
    s = Plain(learning_rate=0.5)
    w = s.double_weight(4.0)
    wg.gather((w * 1.0).train(), s.assign(learning_rate=0.25)).run()
    assert (w.data, s.learning_rate) == (3.5, 0.25)  # the step is that of before
    with pytest.raises(ZeroDivisionError):
        s.assign(learning_rate=0.125).map(lambda _: 1 / 0).run()
    assert s.learning_rate == 0.25


def test_predictions_and_failures_are_no_time() -> None:
    s = Plain(learning_rate=0.5, schedules={"momentum": lambda t: 0.1 * t})
    w = s.double_weight(4.0)
    (w * w).predict().run()
    with pytest.raises(ZeroDivisionError):
        (w * w).train().map(lambda _: 1 / 0).run()
    assert (s.time, s.momentum, w.data) == (0, 0.0, 4.0)


def test_a_schedule_that_leaves_its_range_changes_nothing() -> None:
    s = Plain(learning_rate=0.5, schedules={"learning_rate": lambda t: 1.0 - t})
    w = s.double_weight(4.0)
    (w * w).train().run()
    (before,) = (w.data,)
    with pytest.raises(PluginError, match=r"learning_rate is -1\.0; it has to be a finite number"):
        (w * w).train().run()
    assert (w.data, s.time, s.learning_rate) == (before, 1, 0.0)


@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        ({"learning_rate": -1.0}, "learning_rate is -1.0; it has to be a finite number"),
        ({"lr": 0.1}, "Plain.assign: lr is no number of these settings; they have learning_rate, momentum"),
        ({"momentum": 0.1}, "Plain.assign: momentum has a schedule, which sets it with each commit"),
    ],
)
def test_what_cannot_be_assigned_is_refused_at_the_call(numbers: dict[str, float], says: str) -> None:
    s = Plain(learning_rate=0.5, schedules={"momentum": lambda t: 0.1})
    with pytest.raises(PluginError, match=says):
        s.assign(**numbers)
    assert s.numbers() == {"learning_rate": 0.5, "momentum": 0.1}


def test_a_schedule_of_what_is_no_number_is_refused() -> None:
    with pytest.raises(PluginError, match=r"Plain.schedules: l2 is no number of these settings"):
        Plain(learning_rate=0.1, schedules={"l2": lambda t: 0.1})


@pytest.mark.parametrize(
    ("schedules", "says"),
    [
        ([1], r"Plain: schedules is \[1\]; it has to be a dict from names to functions"),
        ({"learning_rate": 3}, r"Plain: schedules is .*; it has to be a dict from names to functions"),
        ({"learning_rate": lambda t: None}, r"Plain: learning_rate is None; it has to be a finite number"),
    ],
)
def test_schedules_that_are_none_are_refused(schedules: Any, says: str) -> None:
    with pytest.raises(PluginError, match=says):
        Plain(learning_rate=0.1, schedules=schedules)


def test_settings_without_the_plugin_stay_frozen() -> None:
    with pytest.raises(AttributeError, match="frozen"):
        SGD(learning_rate=0.1).learning_rate = 0.2  # type: ignore[misc] # as is refused
