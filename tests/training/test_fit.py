"""`fit` does what a loop by hand does, tells of it, and stops when it should."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.saving.models import told
from tests.training.models import Model, Points, points
from wengert.data import Items, batches
from wengert.nn import Seeds
from wengert.plugins import SGD
from wengert.saving import load
from wengert.training import Epoch, Event, History, Step, evaluate, fit
from wengert.training.records import stale


def test_fit_is_the_loop_by_hand() -> None:
    by_hand, ours = Model(), Model()
    losses, step = [], 0
    for epoch in range(3):
        for batch in batches(points(), 16, seed=5, epoch=epoch):
            losses.append(float(by_hand.loss(batch, (5, step)).train().run()))
            step += 1
    history = fit(ours.loss, points(), seed=5, epochs=3, batch_size=16)
    assert history.losses == tuple(losses) and history.steps == 18
    assert told(ours.net) == told(by_hand.net)


def test_it_learns_and_says_so() -> None:
    model = Model(drop=0.0)
    history = fit(
        model.loss,
        points(400),
        seed=0,
        epochs=30,
        validation=points(200, seed=1),
        metrics={
            "accuracy": model.accuracy,
            "mean": lambda batch: wg.mean(wg.lift(batch.x)),
        },
    )
    last = history.epochs[-1]
    assert last.metrics["accuracy"] > 0.9 and last.loss < 0.3 < history.epochs[0].loss
    assert [epoch.number for epoch in history.epochs] == list(range(30))
    assert last.steps == history.steps == len(history.losses) == 30 * 13
    assert last.validation == evaluate(model.loss, points(200, seed=1)).loss
    assert history.steps_per_second == history.steps / history.seconds > 0
    best = history.best
    assert best is not None and best.validation == min(e.validation or 9 for e in history.epochs)


def test_means_weigh_each_example_alike() -> None:
    w = SGD(learning_rate=0.0).double_weight(1.0)

    def loss(batch: Items[float], seed: Seeds | None) -> wg.DoubleLayer:
        return w * (sum(batch) / len(batch))

    data = Items([1.0, 2.0, 3.0, 10.0])
    found = evaluate(loss, data, batch_size=3, metrics={"least": min, "sum": lambda batch: w * sum(batch)})
    assert found.loss == pytest.approx(4.0)
    assert found.metrics == pytest.approx({"least": (3 * 1.0 + 10.0) / 4, "sum": (3 * 6.0 + 10.0) / 4})
    (epoch,) = fit(loss, data, seed=0, epochs=1, batch_size=3).epochs
    assert epoch.loss == pytest.approx(4.0)


def test_a_function_makes_its_own_batches() -> None:
    asked: list[int] = []

    def data(epoch: int) -> Sequence[Points]:
        asked.append(epoch)
        return [points(5, seed) for seed in range(epoch + 1)]

    history = fit(Model().loss, data, seed=0, epochs=3)
    assert asked == [0, 1, 2] and history.steps == 6
    assert [epoch.steps for epoch in history.epochs] == [1, 3, 6]


def test_callbacks_hear_of_each_step_and_epoch() -> None:
    heard: list[Event] = []
    history = fit(Model().loss, points(40), seed=0, epochs=2, batch_size=16, callbacks=[heard.append])
    steps = [event for event in heard if isinstance(event, Step)]
    assert [(s.number, s.epoch, s.batch, s.batches) for s in steps] == [
        (1, 0, 0, 3),
        (2, 0, 1, 3),
        (3, 0, 2, 3),
        (4, 1, 0, 3),
        (5, 1, 1, 3),
        (6, 1, 2, 3),
    ]
    assert tuple(s.loss for s in steps) == history.losses
    assert [event for event in heard if isinstance(event, Epoch)] == list(history.epochs)
    assert [heard.index(epoch) for epoch in history.epochs] == [3, 7]


def test_steps_may_end_within_an_epoch() -> None:
    history = fit(Model().loss, points(40), seed=0, steps=5, batch_size=16, validation=points(10))
    assert history.steps == 5 and [epoch.steps for epoch in history.epochs] == [3, 5]
    assert history.epochs[1].validation is not None
    assert [
        epoch.steps for epoch in fit(Model().loss, points(40), seed=0, steps=6, batch_size=16).epochs
    ] == [3, 6]


def test_patience_ends_it() -> None:
    still = Model(rate=1e-9, drop=0.0)
    history = fit(still.loss, points(), seed=0, epochs=50, validation=points(20), patience=3, min_delta=0.01)
    assert history.stopped_early and len(history.epochs) == 4
    assert not fit(still.loss, points(), seed=0, epochs=2, patience=3).stopped_early


def test_patience_counts_from_the_last_that_was_better() -> None:
    def of(*losses: float) -> list[Epoch]:
        return [Epoch(i, i, loss) for i, loss in enumerate(losses)]

    assert [stale(of(*([3.0, 2.0, 2.0, 1.9, 1.5][:n])), 0.2) for n in range(6)] == [0, 0, 0, 1, 2, 0]
    assert stale([Epoch(0, 1, 5.0, 1.0), Epoch(1, 2, 4.0, 2.0)], 0.0) == 1  # validation is watched


def test_the_best_epoch_is_kept(tmp_path: Path) -> None:
    model = Model(rate=0.5)
    history = fit(
        model.loss,
        points(40),
        seed=0,
        epochs=6,
        validation=points(20, 1),
        weights=model,
        best=tmp_path / "best",
    )
    best = history.best
    assert best is not None and best.number < 5, "a rate that goes too far is what this test is about"
    again = Model()
    assert load(tmp_path / "best", again).step == best.steps
    assert evaluate(again.loss, points(20, 1)).loss == best.validation != history.epochs[-1].validation


def test_an_executor_may_be_given() -> None:
    found = []
    for executor in (None, wg.run.Sequential(compiled=False)):
        model = Model()
        fit(model.loss, points(), seed=0, epochs=3, executor=executor)
        found.append(told(model.net))
    assert found[0] == found[1]


def test_a_history_is_frozen_and_compares_without_time() -> None:
    first, again = (fit(Model().loss, points(), seed=0, epochs=2) for _ in range(2))
    assert first == again and first.seconds != again.seconds
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.steps = 3  # type: ignore[misc] # that it is refused is what is tested
    assert History((), (), 0).best is None and History((), (), 0).steps_per_second == 0.0


def test_evaluation_changes_no_weight_and_draws_no_chance() -> None:
    model = Model()
    before = told(model.net)
    found: list[Any] = [evaluate(model.loss, points()) for _ in range(2)]
    assert found[0] == found[1] and told(model.net) == before
    assert np.isfinite(found[0].loss)
