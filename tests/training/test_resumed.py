"""A training that is stopped at any moment, and resumed, ends where the undisturbed one does, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.saving.models import told
from tests.training.models import Model, Points, points
from wengert import plugins
from wengert.control import Executor
from wengert.nn import Linear, Seeds
from wengert.saving import load
from wengert.training import Epoch, Event, History, Step, fit


class Stop(Exception):
    """What stops a training here."""


def trained(
    folder: Path, stop: int | None = None, kind: type[Event] = Step, **options: Any
) -> tuple[str, History] | None:
    """The end of a training, or None if it was stopped when that step or epoch had been told."""

    def tell(event: Event) -> None:
        if isinstance(event, kind) and (event.number if isinstance(event, Step) else event.steps) == stop:
            raise Stop

    model = Model()
    given: dict[str, Any] = {"seed": 7, "epochs": 4, "batch_size": 16, "every": 4, **options}
    try:
        history = fit(
            model.loss,
            points(),
            validation=points(20, seed=1),
            metrics={"accuracy": model.accuracy},
            callbacks=[tell],
            weights=model,
            checkpoint=folder / "w",
            best=folder / "best",
            resume=True,
            **given,
        )
    except Stop:
        return None
    return told(model.net), history


@pytest.fixture
def whole(tmp_path: Path) -> tuple[str, History]:
    (tmp_path / "whole").mkdir()
    found = trained(tmp_path / "whole")
    assert found is not None and found[1].steps == 24
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Step, Epoch])
def test_stopped_anywhere_it_ends_alike(
    tmp_path: Path, whole: tuple[str, History], kind: type[Event]
) -> None:
    for stop in range(1, 25) if kind is Step else (6, 12, 18, 24):
        folder = tmp_path / str(stop)
        folder.mkdir()
        assert trained(folder, stop, kind) is None
        assert trained(folder) == whole, stop
        assert (folder / "best").read_bytes() == (tmp_path / "whole" / "best").read_bytes()


EXECUTORS: dict[str, Callable[[], Executor]] = {
    "interpreter": lambda: wg.run.Sequential(compiled=False),
    "two threads": lambda: wg.run.Parallel(threads=2),
    "batched": wg.run.Batched,
}


@pytest.mark.parametrize("name", EXECUTORS)
def test_every_executor_can_go_on(tmp_path: Path, name: str) -> None:
    (tmp_path / "whole").mkdir()
    undisturbed = trained(tmp_path / "whole", executor=EXECUTORS[name]())
    assert trained(tmp_path, 11, executor=EXECUTORS[name]()) is None
    assert trained(tmp_path, executor=EXECUTORS[name]()) == undisturbed


def test_stopped_again_and_again_it_ends_alike(tmp_path: Path, whole: tuple[str, History]) -> None:
    for stop in (1, 3, 5, 6, 9, 9, 13, 18, 24):
        assert trained(tmp_path, stop) is None
    assert trained(tmp_path) == whole


def test_a_checkpoint_makes_no_difference(whole: tuple[str, History]) -> None:
    model = Model()
    history = fit(
        model.loss,
        points(),
        seed=7,
        epochs=4,
        batch_size=16,
        validation=points(20, seed=1),
        metrics={"accuracy": model.accuracy},
    )
    assert (told(model.net), history) == whole


class Warming(plugins.ClipByGlobalNorm, plugins.Momentum, plugins.LearningRateSchedule):
    """A rate that is another one in each step."""


@pytest.mark.parametrize("stop", [1, 5, 8, 11])
def test_a_schedule_goes_on_where_it_was(tmp_path: Path, stop: int) -> None:
    def ending(folder: Path, stop: int | None) -> str | None:
        def tell(event: Event) -> None:
            if isinstance(event, Step) and event.number == stop:
                raise Stop

        settings = Warming(schedule=lambda t: 0.02 * (t + 1), max_norm=1.0)
        model = Linear.make(settings, 4, 2, seed=0)
        pulled = settings.float_weight(1.0, name="pulled")  # has a delta in every third step only

        def loss(batch: Points, seed: Seeds | None) -> wg.ArrayLayer[tuple[()]]:
            found = wg.cross_entropy(model(batch.x), batch.label)
            return found * pulled if isinstance(seed, tuple) and seed[1] % 3 == 0 else found

        weights = {"model": model, "pulled": pulled}
        options: dict[str, Any] = {
            "checkpoint": folder / "w",
            "every": 2,
            "resume": True,
            "callbacks": [tell],
        }
        try:
            fit(loss, points(), seed=7, epochs=2, batch_size=16, weights=weights, **options)
        except Stop:
            return None
        assert settings.commits == 12
        return told(weights)

    (tmp_path / "whole").mkdir()
    whole = ending(tmp_path / "whole", None)
    assert ending(tmp_path, stop) is None
    assert ending(tmp_path, None) == whole is not None


def test_a_finished_training_is_not_done_again(tmp_path: Path) -> None:
    first = trained(tmp_path)
    heard: list[Event] = []
    again = trained(tmp_path)
    assert again == first and not heard


def test_a_training_can_be_prolonged(tmp_path: Path, whole: tuple[str, History]) -> None:
    trained(tmp_path, epochs=1)
    trained(tmp_path, epochs=None, steps=8)
    part = trained(tmp_path, epochs=None, steps=15)
    assert part is not None and [epoch.steps for epoch in part[1].epochs] == [6, 12, 15]
    assert trained(tmp_path, epochs=None, steps=15) == part
    assert trained(tmp_path) == whole
    longer = trained(tmp_path, epochs=2)
    assert longer == whole, "fewer epochs than are done: nothing is undone"


def test_what_a_kill_left_is_deleted(tmp_path: Path) -> None:
    trained(tmp_path)
    there = {path.name for path in tmp_path.iterdir()}
    others = {".w.x.partial", ".v.0123456789abcdef.partial", "w.0123456789abcdef.partial"}
    for name in {".w.0123456789abcdef.partial", *others}:
        (tmp_path / name).write_text("")
    trained(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == there | others


def test_numbers_of_numpy_are_numbers(tmp_path: Path, whole: tuple[str, History]) -> None:
    options: dict[str, Any] = {
        "seed": np.int64(7),
        "epochs": np.int32(4),
        "batch_size": np.int64(16),
        "every": np.int8(4),
    }
    assert trained(tmp_path, **options) == whole


def test_patience_that_is_at_its_end_stays_so(tmp_path: Path) -> None:
    first = trained(tmp_path, patience=1, min_delta=1.0)
    assert first is not None and first[1].stopped_early and len(first[1].epochs) == 2
    assert trained(tmp_path, patience=1, min_delta=1.0) == first


def test_checkpoints_are_written_when_they_are_due(tmp_path: Path) -> None:
    steps = []

    def tell(event: Event) -> None:
        if isinstance(event, Step) and (tmp_path / "w").exists():
            steps.append((event.number, load(tmp_path / "w", Model()).step))

    model = Model()
    fit(
        model.loss,
        points(),
        seed=0,
        epochs=2,
        batch_size=16,
        weights=model,
        checkpoint=tmp_path / "w",
        every=4,
        callbacks=[tell],
    )
    assert dict(steps) == {2: 1, 3: 1, 4: 1, 5: 4, 6: 4, 7: 6, 8: 6, 9: 8, 10: 8, 11: 8, 12: 8}
    assert load(tmp_path / "w", Model()).step == 12
