"""D75: time is the commits of one settings object; only a commit changes it (S6), and it outlives the object."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from wengert import saving
from wengert.errors import PluginError
from wengert.plugins import FailOnNonFinite, LearningRateSchedule, WeightDecay


class Settings(WeightDecay, FailOnNonFinite, LearningRateSchedule): ...


def by_time(t: int) -> float:
    return 1.0 + t


def test_time_counts_the_commits_of_the_settings_object() -> None:
    times: list[int] = []

    def schedule(t: int) -> float:
        times.append(t)
        return by_time(t)

    settings = Settings(schedule=schedule, weight_decay=0.0)
    a, b = settings.double_weight(0.0), settings.double_weight(0.0)
    (a + b).train().run()
    (a * 1.0).train().run()
    (b * 1.0).train().run()
    assert (a.data, b.data) == (-1.0 - 2.0, -1.0 - 3.0)
    assert times == [0, 1, 2]
    assert settings.commits == 3


def test_predictions_gradients_and_failures_are_no_time() -> None:
    settings = Settings(schedule=by_time, weight_decay=0.0)
    w = settings.double_weight(0.0)
    (w * 1.0).predict().run()
    wg.gradients(w * 1.0, (w,)).run()
    with pytest.raises(ArithmeticError):
        (w / 0.0).train().run()
    assert settings.commits == 0
    (w * 1.0).train().run()
    assert (w.data, settings.commits) == (-1.0, 1)


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf"), "fast", None])
def test_a_rate_that_is_none_is_refused_and_nothing_changes(rate: Any) -> None:
    rates: dict[int, Any] = {0: 0.5, 1: rate}
    settings = Settings(schedule=lambda t: rates[t], weight_decay=0.0)
    a, b = settings.double_weight(1.0), settings.array_weight(np.ones(2))
    (a + wg.sum(b)).train().run()
    with pytest.raises(PluginError) as error:
        (a + wg.sum(b)).train().run()
    assert str(error.value) == (
        f"Settings: schedule(1) is {rate!r}; a rate has to be a finite number, at least 0"
    )
    assert (a.data, b.data.tolist(), settings.commits) == (0.5, [0.5, 0.5], 1)


def test_what_the_schedule_raises_reaches_the_caller() -> None:
    def schedule(t: int) -> float:
        raise KeyError("no rate")

    w = Settings(schedule=schedule, weight_decay=0.0).double_weight(1.0)
    with pytest.raises(KeyError, match="no rate"):
        (w * 1.0).train().run()
    assert w.data == 1.0


def test_what_is_no_function_is_refused() -> None:
    make: Callable[..., LearningRateSchedule] = LearningRateSchedule
    with pytest.raises(
        PluginError, match=r"schedule is 0\.1; it has to be a function of the number of earlier"
    ):
        make(schedule=0.1)


def test_decay_follows_the_schedule() -> None:
    w = Settings(schedule=by_time, weight_decay=0.1).double_weight(1.0)
    (w * 0.0).train().run()
    assert w.data == 0.9
    (w * 0.0).train().run()
    assert w.data == pytest.approx(0.9 - 2.0 * 0.1 * 0.9)


def test_time_goes_on_with_a_weight_that_comes_back() -> None:
    settings = Settings(schedule=by_time, weight_decay=0.0)
    w = settings.double_weight(0.0)
    for _ in range(3):
        (w * 1.0).train().run()
    again: wg.DoubleWeight = cloudpickle.loads(cloudpickle.dumps(w))
    (again * 1.0).train().run()
    assert again.data == -1.0 - 2.0 - 3.0 - 4.0


def test_a_checkpoint_brings_its_time(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="files of weights need the extra `saving`")

    def made() -> tuple[Settings, wg.DoubleWeight, wg.DoubleWeight]:
        settings = Settings(schedule=by_time, weight_decay=0.0)
        return settings, settings.double_weight(0.0, name="a"), settings.double_weight(0.0, name="b")

    settings, a, b = made()
    (b * 1.0).train().run()
    (a * 1.0).train().run()
    saving.save(tmp_path / "weights", [a, b])
    (a * 1.0).train().run()
    for again, x, y in ((settings, a, b), made()):  # time goes back, and on in an object made anew
        saving.load(tmp_path / "weights", [x, y])
        assert (again.commits, x.data, y.data) == (2, -2.0, -1.0)
        (y * 1.0).train().run()
        assert (again.commits, y.data) == (3, -1.0 - 3.0)


def test_files_of_parts_bring_the_same_time_in_any_order(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="files of weights need the extra `saving`")

    def made() -> tuple[Settings, list[wg.DoubleWeight]]:
        settings = Settings(schedule=by_time, weight_decay=0.0)
        return settings, [settings.double_weight(0.0, name=name) for name in ("early", "late", "never")]

    _, weights = made()
    for weight in (weights[0], weights[1], weights[1]):
        (weight * 1.0).train().run()
    for i, weight in enumerate(weights):
        saving.save(tmp_path / str(i), [weight])
    for order in ((0, 1, 2), (2, 1, 0), (0,), (2,)):
        settings, others = made()
        for i in order:
            saving.load(tmp_path / str(i), [others[i]])
        assert settings.commits == 3


def test_trainings_in_many_threads_are_one_after_the_other_in_time() -> None:
    settings = Settings(schedule=by_time, weight_decay=0.0)
    weights = [settings.double_weight(0.0) for _ in range(4)]

    def trains(w: wg.DoubleWeight) -> None:
        for _ in range(25):
            (w * 1.0).train().run()

    threads = [threading.Thread(target=trains, args=(w,)) for w in weights]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert settings.commits == 100
    assert sum(w.data for w in weights) == -sum(by_time(t) for t in range(100))
