"""D67: records of failures, operations and updates, and nothing where nobody asked."""

from __future__ import annotations

import gc
import logging
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.planned import eager
from wengert.errors import NonFiniteError
from wengert.graph.watchers import WATCHERS
from wengert.plugins import SGD, FailOnNonFinite, Logging, Names
from wengert.run import Sequential

Log = pytest.LogCaptureFixture


class Settings(Logging, FailOnNonFinite, SGD): ...


class Named(Names, Logging, SGD): ...


class NamedToo(Logging, Names, SGD): ...


def records(log: Log) -> list[str]:
    """Level and text of each record, without places in files."""
    found = [f"{r.levelname} {r.getMessage()}" for r in log.records if r.name == "wengert"]
    log.clear()
    return [text.partition(", built at")[0] for text in found]


def test_a_training_is_told_in_order(caplog: Log) -> None:
    w = Settings(learning_rate=0.5).array_weight(np.ones((2, 3)), name="w")
    loss = wg.sum(wg.exp(w) * 2.0)
    with caplog.at_level(logging.DEBUG, "wengert"):
        loss.train().run()
    assert records(caplog) == [
        "DEBUG forward of exp((2, 3) float64) with weight 'w'",
        "DEBUG forward of multiply((2, 3) float64, () float64)",
        "DEBUG forward of sum((2, 3) float64)",
        "DEBUG backward of sum((2, 3) float64)",
        "DEBUG backward of multiply((2, 3) float64, () float64)",
        "DEBUG backward of exp((2, 3) float64) with weight 'w'",
        "DEBUG update of <ArrayWeight 'w' (2, 3) float64>",
    ]


@pytest.mark.parametrize("executor", [wg.run.Sequential(), wg.run.Parallel(threads=2), wg.run.Batched()])
def test_a_run_of_several_questions_is_told_whoever_runs_it(executor: Any, caplog: Log) -> None:
    w = Settings(learning_rate=0.5).double_weight(1.0, name="w")
    with caplog.at_level(logging.DEBUG, "wengert"):
        wg.gather((w * 2.0).train(), (w * 3.0).predict()).run(executor)
    multiply = "multiply(() float64, () float64) with weight 'w'"
    assert records(caplog) == [
        f"DEBUG forward of {multiply}",
        f"DEBUG backward of {multiply}",
        f"DEBUG forward of {multiply}",
        "DEBUG update of <DoubleWeight 'w' () float64>",
    ]


def test_each_record_names_the_line(caplog: Log) -> None:
    w = Settings(learning_rate=0.5).double_weight(1.0, name="w")
    with caplog.at_level(logging.DEBUG, "wengert"):
        (w * 2.0).predict().run()
    (record,) = caplog.records
    assert __file__ in record.getMessage()


def test_a_prediction_and_gradients_update_nothing(caplog: Log) -> None:
    w = Settings(learning_rate=0.5).double_weight(1.0, name="w")
    with caplog.at_level(logging.DEBUG, "wengert"):
        (w * 2.0).predict().run()
        assert records(caplog) == ["DEBUG forward of multiply(() float64, () float64) with weight 'w'"]
        assert wg.gradients(w * 2.0, (w,)).run() == (2.0,)
        assert [text.split()[1] for text in records(caplog)] == ["forward", "backward"]


def test_a_network_with_binds_is_told_too(caplog: Log) -> None:
    w = Settings(learning_rate=0.5).double_weight(1.0, name="w")

    @wg.differentiable
    async def twice(x: wg.DoubleLayer) -> wg.DoubleLayer:
        return x * w if await x > 0 else x + w

    with caplog.at_level(logging.DEBUG, "wengert"):
        twice(wg.lift(3.0)).train().run()
    assert records(caplog) == [
        "DEBUG forward of multiply(() float64, () float64) with weight 'w'",
        "DEBUG backward of multiply(() float64, () float64) with weight 'w'",
        "DEBUG update of <DoubleWeight 'w' () float64>",
    ]
    assert w.data == 1.0 - 0.5 * 3.0


def test_silence_makes_no_record_and_keeps_the_plan(caplog: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(logging.Logger, "makeRecord", lambda *arguments, **options: made.append(arguments))
    executor, plans = eager()
    w = Settings(learning_rate=0.5).double_weight(1.0)
    with caplog.at_level(logging.INFO, "wengert"):
        for _ in range(3):
            (w * 2.0).train().run(executor)
    assert not made
    assert plans.made == 1


def test_a_plan_steps_aside_while_somebody_watches(caplog: Log) -> None:
    executor, plans = eager()
    w = Settings(learning_rate=0.5).double_weight(0.0, name="w")
    for level, count in ((logging.INFO, 0), (logging.DEBUG, 3), (logging.INFO, 0)):
        with caplog.at_level(level, "wengert"):
            (w * 1.0).train().run(executor)
        assert len(records(caplog)) == count
    assert (w.data, plans.made) == (-1.5, 1)


def test_others_are_not_told(caplog: Log) -> None:
    own = logging.getLogger("wengert.test_logging")
    mine, yours = Settings(learning_rate=0.5), Settings(learning_rate=0.5, logger=own)
    a, b = mine.double_weight(1.0, name="a"), yours.double_weight(1.0, name="b")
    c = SGD(learning_rate=0.5).double_weight(1.0, name="c")
    with caplog.at_level(logging.DEBUG, "wengert"):
        (a * 1.0).train().run()
        assert {r.name for r in caplog.records} == {"wengert"}
        caplog.clear()
        (b * c).train().run()
        assert [(r.name, r.getMessage()) for r in caplog.records[-1:]] == [
            (own.name, "update of <DoubleWeight 'b' () float64>")
        ]
        caplog.clear()
        (c * 1.0).train().run()
        assert not caplog.records


def test_groups_with_one_logger_make_each_record_once(caplog: Log) -> None:
    a, b = (Settings(learning_rate=0.5).double_weight(1.0, name=name) for name in "ab")
    with caplog.at_level(logging.DEBUG, "wengert"):
        (a * b).train().run()
        found = records(caplog)
    assert [text.split()[1] for text in found] == ["forward", "backward", "update", "update"]
    with caplog.at_level(logging.ERROR, "wengert"), pytest.raises(NonFiniteError):
        (a / 0.0 + b).train().run()
    assert len(records(caplog)) == 1


FAILURES: dict[str, tuple[Callable[[Any], Any], str]] = {  # Any: a weight, a loss
    "forward": (
        lambda w: wg.sum(wg.take(w, np.array([0, 7]))),
        "ERROR IndexError: index 7 is out of bounds for axis 0 with size 2\n"
        "  in take((2,) float64, (2,) int64) with weight 'w'",
    ),
    "commit": (
        lambda w: wg.sum(w) / 0.0,
        "ERROR NonFiniteError: the loss is inf, so <ArrayWeight 'w' (2,) float64> and all other weights stay "
        "as they are\n  in the update of <ArrayWeight 'w' (2,) float64>, made at ",
    ),
}


@pytest.mark.parametrize("level", [logging.ERROR, logging.DEBUG])
@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("executor", [Sequential(), Sequential(compiled=False)], ids=["compiled", "plain"])
def test_a_failure_is_one_record(caplog: Log, executor: Sequential, name: str, level: int) -> None:
    make, text = FAILURES[name]
    w = Settings(learning_rate=0.5).array_weight(np.ones(2), name="w")
    with caplog.at_level(level, "wengert"):
        for _ in range(9):  # by the interpreter, then by a plan where there is one
            caplog.clear()
            with pytest.raises((IndexError, ArithmeticError)):
                make(w).train().run(executor)
            (record,) = (r for r in caplog.records if r.levelno == logging.ERROR)
            assert f"ERROR {record.getMessage()}".startswith(text)
            assert __file__ in record.getMessage()
            assert not any("update" in r.getMessage() for r in caplog.records if r is not record)


def test_several_failures_are_several_records(caplog: Log) -> None:
    w = Settings(learning_rate=0.5).array_weight(np.ones(2), name="w")
    with caplog.at_level(logging.ERROR, "wengert"), pytest.raises(ExceptionGroup):
        (wg.sum(wg.take(w, np.array([7]))) + wg.sum(wg.take(w, np.array([8])))).predict().run()
    assert [text.partition(" is")[0] for text in records(caplog)] == [
        "ERROR IndexError: index 7",
        "ERROR IndexError: index 8",
    ]


@pytest.mark.parametrize("kind", [Named, NamedToo])
def test_two_plugins_that_come_back_from_a_pickle_both_do(kind: type[Named | NamedToo]) -> None:
    before = len(WATCHERS)
    settings = pickle.loads(pickle.dumps(kind(learning_rate=0.5)))
    assert len(WATCHERS) == before + 1
    w = settings.double_weight(1.0, name="w")
    assert dict(settings.weights) == {"w": w}
    del w
    assert not settings.weights


def test_settings_watch_as_long_as_they_live() -> None:
    gc.collect()
    before = len(WATCHERS)
    settings = Settings(learning_rate=0.5)
    again = pickle.loads(pickle.dumps(settings))
    assert len(WATCHERS) == before + 2
    del settings, again
    gc.collect()
    assert len(WATCHERS) == before


def test_changed_rules_hold_while_somebody_watches(caplog: Log) -> None:
    executor = Sequential(rules={wg.exp: lambda case, x: 10.0 * x})
    w = Settings(learning_rate=0.5).double_weight(3.0, name="w")
    with caplog.at_level(logging.DEBUG, "wengert"):
        assert wg.exp(w).predict().run(executor) == 30.0
    assert records(caplog) == ["DEBUG forward of exp(() float64) with weight 'w'"]
