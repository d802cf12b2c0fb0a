"""A metric that is monitored, accumulation, rates in records, a rate that goes down, streams of batches, columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.training.models import Model, Points, points
from wengert.arrays.samples import order
from wengert.data import Batches, batches
from wengert.errors import ArgumentError, DataError, NonFiniteError
from wengert.nn import BatchNorm, Linear
from wengert.plugins import SGD, Adam, Hyperparameters, LearningRate, LearningRateSchedule, schedules
from wengert.run import Batched, Parallel, Sequential
from wengert.training import Epoch, Event, History, ReduceOnPlateau, Step, evaluate, fit


def scripted(values: list[float], **options: Any) -> History:
    """A training whose metric `score` has these values in turn."""
    model, left = Model(), iter(values)
    given: dict[str, Any] = {
        "seed": 0,
        "epochs": len(values),
        "validation": points(9),
        "show": False,
        **options,
    }
    return fit(model.loss, points(30), metrics={"score": lambda batch: next(left)}, **given)


def test_a_metric_can_end_a_training() -> None:
    values = [0.1, 0.5, 0.4, 0.45, 0.9]
    history = scripted(values, patience=2, monitor="score", mode="max")
    assert history.stopped_early and len(history.epochs) == 4
    assert history.best is not None and history.best.number == 1
    history = scripted(values, monitor="score")
    assert not history.stopped_early and history.best is not None and history.best.number == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "most"}, "mode is 'min' or 'max'; got 'most'"),
        ({"monitor": "f1"}, "monitor is 'f1', and the metrics of an epoch are score"),
        ({"accumulate": 0}, "accumulate is an integer from 1 on; got 0"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said.replace("(", r"\(")):
        scripted([0.1], **options)


class Scheduled(Adam, LearningRateSchedule): ...


def linear(settings: Any) -> tuple[Any, Any]:
    model: Any = Linear.make(settings, 4, 2, seed=0)
    return model, lambda batch, seed: wg.cross_entropy(model(batch.x), batch.label)


def test_accumulated_steps_are_those_of_the_whole_batch() -> None:
    """In 90 examples the last step has two parts of 16 and 10, which weigh by their examples."""
    (one, loss), (two, parts) = linear(SGD(learning_rate=0.5)), linear(SGD(learning_rate=0.5))
    made = batches(points(90), 16, seed=0, epoch=0)
    doubled = [
        Points(*(np.concatenate([getattr(b, n) for b in some]) for n in ("x", "label")))
        for some in ([made[i], made[i + 1]] for i in range(0, 6, 2))
    ]
    told: list[Event] = []
    whole = fit(loss, lambda epoch: doubled, seed=0, epochs=2, show=False)
    split = fit(
        parts, lambda epoch: made, seed=0, epochs=2, accumulate=2, callbacks=[told.append], show=False
    )
    assert split.losses == pytest.approx(whole.losses, rel=1e-5) and split.steps == whole.steps == 6
    np.testing.assert_allclose(two.weight.data, one.weight.data, rtol=1e-4, atol=1e-6)
    assert [step.batch for step in told if isinstance(step, Step)] == [0, 2, 4] * 2


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("results", [False, True])
def test_few_rows_of_a_table_weigh_by_their_examples_too(waits: bool, results: bool) -> None:
    """A step of parts of 3 and of 1 examples goes by the mean over all 4, with every row at most once."""
    table: Any = SGD(learning_rate=1.0).array_weight(np.zeros((100, 2), np.float32))

    @wg.differentiable
    async def found(x: wg.ArrayLayer) -> wg.ArrayLayer:
        await wg.sum(x)
        return x

    def loss(batch: Any, seed: Any) -> Any:  # Any: an array of lines
        rows = wg.take(table, batch, axis=0)
        value: Any = wg.mean(wg.sum(found(rows * 1.0) if waits else rows, axis=1))
        return (value, rows) if results else value

    parts = [np.array([1, 2, 3]), np.array([4])]
    fit(loss, lambda epoch: parts, seed=0, epochs=1, accumulate=2, show=False)
    np.testing.assert_array_equal(table.data[:6, 0], [0.0, -0.25, -0.25, -0.25, -0.25, 0.0])


def test_rates_are_told() -> None:
    _, loss = linear(Scheduled(schedule=schedules.ExponentialLR(0.1, gamma=0.5)))
    told: list[Event] = []
    history = fit(loss, points(30), seed=0, epochs=2, batch_size=15, callbacks=[told.append], show=False)
    assert [e.rates for e in told if isinstance(e, Step)] == [{"Scheduled": 0.1 * 0.5**t} for t in range(4)]
    columns = history.columns()
    assert columns["rate Scheduled"] == [0.05, 0.0125] and columns["epoch"] == [0, 1]
    assert {len(column) for column in columns.values()} == {2}


class Adjusted(Hyperparameters, Adam, LearningRate): ...


def falling(folder: Path, stop: int | None, resume: bool) -> tuple[Any, History | None]:
    settings = Adjusted(learning_rate=0.1)
    model, loss = linear(settings)

    def killed(event: Event) -> None:
        if isinstance(event, Step) and event.number == stop:
            raise KeyboardInterrupt

    plateau = ReduceOnPlateau(settings, factor=0.5, patience=0, threshold=0.05)
    try:
        history = fit(
            loss,
            points(30),
            seed=0,
            epochs=8,
            batch_size=10,
            callbacks=[plateau, killed],
            show=False,
            weights=model,
            checkpoint=folder / "w",
            resume=resume,
            every=2,
        )
    except KeyboardInterrupt:
        return model.weight.data, None
    return model.weight.data, history


def test_a_plateau_is_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    expected, history = falling(tmp_path / "a", None, False)
    assert history is not None
    rates = [epoch.rates["Adjusted"] for epoch in history.epochs]
    assert rates[0] == 0.1 and rates[-1] < 0.1 and rates == sorted(rates, reverse=True)
    for stop in (7, 16, 22):
        folder = tmp_path / str(stop)
        folder.mkdir()
        assert falling(folder, stop, False)[1] is None
        found, again = falling(folder, None, True)
        assert np.array_equal(found, expected) and again == history


def test_a_plateau_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch comes with the extra `benchmarks` only")
    losses = np.random.default_rng(0).uniform(0.9, 1.1, 60) * np.linspace(2.0, 1.0, 60)
    for options in ({"patience": 3}, {"patience": 2, "cooldown": 4}, {"patience": 1, "threshold": 0.1}):
        settings = Adjusted(learning_rate=0.1)
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        peer = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, **options)
        ours: Any = ReduceOnPlateau
        plateau = ours(settings, factor=0.5, **options)
        for i, loss in enumerate(losses.tolist()):
            peer.step(loss)
            plateau(Epoch(i, i, loss))
            assert settings.learning_rate == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-9)


def test_a_plateau_needs_a_rate_that_changes() -> None:
    wrong: Any = SGD(learning_rate=0.1)
    with pytest.raises(ArgumentError, match="settings have the plugins Hyperparameters and LearningRate"):
        ReduceOnPlateau(wrong)


class Stream:
    """An iterable of batches without a length, anew in each epoch."""

    def __iter__(self) -> Iterator[Points]:
        yield from batches(points(90), 20, seed=0, epoch=0)


def test_streams_are_as_sequences(tmp_path: Path) -> None:
    told: dict[str, list[Event]] = {}
    found = {}
    forms: dict[str, Any] = {
        "sequence": lambda epoch: batches(points(90), 20, seed=0, epoch=0),
        "generator": lambda epoch: iter(Stream()),
        "iterable": Stream(),
        "batches": Batches(points(90), [order(0, 0, 90)[i : i + 20] for i in range(0, 90, 20)]),
    }
    for name, data in forms.items():
        model = Model()
        told[name] = []
        found[name] = fit(model.loss, data, seed=0, epochs=2, callbacks=[told[name].append], show=False)
    assert len(set(map(repr, (h.losses for h in found.values())))) == 1
    steps = {name: [e.batches for e in events if isinstance(e, Step)] for name, events in told.items()}
    assert steps["sequence"] == [5] * 10 and steps["generator"] == [None] * 10
    assert evaluate(Model().loss, Stream()) == evaluate(Model().loss, forms["sequence"])


def test_a_stream_is_gone_on_with(tmp_path: Path) -> None:
    def run(resume: bool, stop: int | None, name: str) -> Any:
        model = Model()

        def killed(event: Event) -> None:
            if isinstance(event, Step) and event.number == stop:
                raise KeyboardInterrupt

        files: dict[str, Any] = {
            "weights": model,
            "checkpoint": tmp_path / name,
            "every": 1,
            "resume": resume,
        }
        try:
            return fit(model.loss, Stream(), seed=0, epochs=2, callbacks=[killed], show=False, **files)
        except KeyboardInterrupt:
            return None

    whole = run(False, None, "a")
    for stop in (4, 5, 6):
        assert run(False, stop, str(stop)) is None
        assert run(True, None, str(stop)) == whole


def test_a_generator_is_read_once() -> None:
    with pytest.raises(
        DataError, match="epoch 1 of the data has no batch; a generator is read once: give a function"
    ):
        fit(Model().loss, iter(Stream()), seed=0, epochs=2, show=False)


def test_a_batch_of_arrays_weighs_by_its_rows() -> None:
    pairs: Any = [(np.zeros((3, 1), np.float32), 1.0), (np.ones((1, 1), np.float32), 1.0)]
    loss: Any = lambda batch, seed: wg.mean(wg.lift(batch[0]))  # noqa: E731
    assert evaluate(loss, lambda epoch: pairs).loss == 0.25


def normalised() -> tuple[Any, Any]:
    settings = SGD(learning_rate=0.0)
    norm: Any = BatchNorm.make(settings, 4, rate=0.5)
    model: Any = Linear.make(settings, 4, 2, seed=0)

    return norm, lambda batch, seed: wg.cross_entropy(model(norm(batch.x, seed=seed)), batch.label)


@pytest.mark.parametrize("executor", [None, Sequential(compiled=False), Batched(), Parallel(threads=2)])
@pytest.mark.parametrize("results", [False, True])
def test_each_part_of_a_step_moves_running_statistics(executor: Any, results: bool) -> None:
    """With equal parts in no order: a step of two parts goes twice to the mean of what they have."""
    norm, loss = normalised()
    parts = [Points(np.full((3, 4), n, np.float32), np.zeros(3, np.int64)) for n in (1.0, 3.0, 5.0)]
    given = (lambda batch, seed: (loss(batch, seed), (wg.lift(2.0),))) if results else loss
    history = fit(given, lambda epoch: parts, seed=0, epochs=1, accumulate=2, executor=executor, show=False)
    assert history.steps == 2
    first = 0.0 + (1 - 0.5**2) * 2.0
    np.testing.assert_allclose(norm.mean.data, np.full(4, first + 0.5 * (5.0 - first)), rtol=1e-6)


def test_a_loss_that_is_not_finite_leaves_running_statistics() -> None:
    norm, loss = normalised()
    parts = [Points(np.full((3, 4), n, np.float32), np.zeros(3, np.int64)) for n in (1.0, np.nan)]
    before = norm.mean.data.copy()
    with pytest.raises(NonFiniteError):
        fit(loss, lambda epoch: parts, seed=0, epochs=1, accumulate=2, show=False)
    np.testing.assert_array_equal(norm.mean.data, before)


@pytest.mark.parametrize("executor", [None, Sequential(compiled=False), Batched(), Parallel(threads=2)])
@pytest.mark.parametrize("options", [{}, {"shards": 2}])
@pytest.mark.parametrize("results", [False, True])
def test_parts_of_a_step_teach_weights_that_awaited_values_choose(
    executor: Any, options: dict[str, Any], results: bool
) -> None:
    """Rows above 2 are for one weight, others for the other one, behind the bind, which no graph shows before a run."""
    settings = SGD(learning_rate=0.1)
    low, high, norm = (
        settings.double_weight(1.0),
        settings.double_weight(1.0),
        BatchNorm.make(settings, 4, rate=0.5),
    )

    @wg.differentiable
    async def chosen(x: Any, seed: Any) -> wg.ArrayLayer[tuple[()], np.float64]:
        shifted: Any = wg.mean(norm(x, seed=seed))  # 0 for rows that are alike
        assert await shifted == 0.0
        size = float(x.mean())
        made: wg.ArrayLayer[tuple[()], np.float64] = (high if size > 2.0 else low) * size + wg.astype(
            shifted, np.float64
        )
        return made

    def loss(batch: Points, seed: Any) -> Any:
        made = chosen(batch.x, seed)
        return (made, (wg.lift(2.0),)) if results else made

    parts = [Points(np.full((4, 4), n, np.float32), np.zeros(4, np.int64)) for n in (1.0, 3.0, 5.0)]
    fit(
        loss,
        lambda epoch: parts,
        seed=0,
        epochs=1,
        accumulate=3,
        executor=executor,
        show=False,
        **(options if not results else {}),
    )
    assert (low.data, high.data) == pytest.approx((1.0 - 0.1 / 3.0, 1.0 - 0.1 * 8.0 / 3.0))
    assert norm.mean.data.min() > 1.0  # statistics behind the bind go a step for each part, too
