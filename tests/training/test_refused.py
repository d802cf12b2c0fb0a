"""Options, data and losses that do not fit together: one clear error, and no weight has learnt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.saving.models import told
from tests.training.models import Model, Points, points
from wengert.control import Executor
from wengert.data import Items
from wengert.errors import ArgumentError, DataError, NonFiniteError, ShapeError
from wengert.nn import Seeds
from wengert.plugins import SGD, FailOnNonFinite, LearningRate, Momentum
from wengert.training import Event, evaluate, fit


class Momentous(Momentum, LearningRate):
    """An optimizer with state."""


def refused(said: str, data: Any = None, **options: Any) -> None:
    model = Model()
    given: dict[str, Any] = {"seed": 0, "epochs": 1, **options}
    before = told(model.net)
    with pytest.raises(ArgumentError) as caught:
        fit(model.loss, points() if data is None else data, **given)
    assert said in str(caught.value) and "test_refused.py:" in str(caught.value)
    assert told(model.net) == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epochs": 0}, "epochs is an integer from 1 on; got 0"),
        ({"epochs": 1.5}, "got 1.5"),
        ({"steps": 3}, "give either epochs= or steps="),
        ({"epochs": None}, "give either epochs= or steps="),
        ({"epochs": None, "steps": -1}, "steps is an integer from 1 on; got -1"),
        ({"seed": -1}, "seed is an integer from 0 on; got -1"),
        ({"seed": 0.5}, "seed is an integer from 0 on; got 0.5"),
        ({"patience": 0}, "patience is an integer from 1 on; got 0"),
        ({"batch_size": 0}, "size is an integer from 1 on; got 0"),
        ({"metrics": {"one": lambda batch: 1.0}}, "metrics are measured on validation data"),
        ({"checkpoint": "x"}, "give weights= too"),
        ({"best": "x"}, "give weights= too"),
        ({"every": 3}, "give checkpoint= too"),
        ({"resume": True}, "give checkpoint= too"),
        ({"checkpoint": "x", "every": 0, "weights": Model()}, "every is an integer from 1 on; got 0"),
        ({"data": [1, 2]}, "of examples in a list make data.Items(...)"),
        ({"data": points().x}, "of arrays make a dataclass that derives from data.Rows"),
        ({"callbacks": print}, "callbacks are functions in a list, as in callbacks=[tell]; got <built-in"),
        ({"min_delta": "0.1"}, "min_delta is a number; got '0.1'"),
        (
            {"data": lambda epoch: [points()], "batch_size": 3},
            "the data are a function that makes its own batches",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], said: str) -> None:
    refused(said, **options)


def test_an_unknown_option_is_refused() -> None:
    options: Any = {"epoch": 3}
    with pytest.raises(TypeError, match="unexpected keyword argument 'epoch'"):
        fit(Model().loss, points(), seed=0, epochs=1, **options)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (points(0), "the data have no example"),
        (Items([]), "the data have no example"),
        (lambda epoch: [], "epoch 0 of the data has no batch"),
    ],
)
def test_no_examples_are_refused(data: Any, said: str) -> None:
    with pytest.raises(DataError, match=rf"fit: {said}\n  at .*test_refused\.py:"):
        fit(Model().loss, data, seed=0, epochs=1)
    with pytest.raises(DataError, match=f"evaluate: {said}"):
        evaluate(Model().loss, data)


@pytest.mark.parametrize(("data", "said"), [(points(0), "have no example"), ([1], r"make data.Items\(")])
def test_validation_data_are_checked_before_the_first_step(data: Any, said: str) -> None:
    heard: list[Event] = []
    with pytest.raises((DataError, ArgumentError), match=f"fit: validation: .*{said}"):
        fit(Model().loss, points(), seed=0, epochs=1, validation=data, callbacks=[heard.append])
    assert not heard


def test_batches_without_an_example_are_refused() -> None:
    with pytest.raises(DataError, match="evaluate: the batches have no example"):
        evaluate(lambda batch, seed: wg.lift(1.0), lambda epoch: [()])


# -- losses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (lambda model, b: model.loss(b, None).train(), "return the loss without .train()"),
        (
            lambda model, b: model.loss(b, None).predict().run(),
            "no weight is below the loss, so nothing would",
        ),
        (lambda model, b: wg.mean(wg.lift(b.x)), "no weight is below the loss, so nothing would learn"),
    ],
)
def test_a_loss_that_teaches_nothing_is_refused(loss: Any, said: str) -> None:
    model = Model()
    before = told(model.net)
    with pytest.raises(ArgumentError) as caught:
        fit(lambda batch, seed: loss(model, batch), points(), seed=0, epochs=1)
    assert said in str(caught.value) and "test_refused.py:" in str(caught.value)
    assert told(model.net) == before


EXECUTORS: dict[str, Callable[[], Executor]] = {
    "plans": wg.run.Sequential,
    "interpreter": lambda: wg.run.Sequential(compiled=False),
    "two threads": lambda: wg.run.Parallel(threads=2),
    "batched": wg.run.Batched,
}


@wg.differentiable
async def looked_at(x: wg.ArrayLayer[tuple[()]]) -> wg.ArrayLayer[tuple[()]]:
    return x if await x > -1.0 else -x


@pytest.mark.parametrize("bind", [False, True])
@pytest.mark.parametrize("steps", [0, 1, 60])  # the first run, the second one, and a plan of long standing
@pytest.mark.parametrize("name", EXECUTORS)
def test_a_loss_that_is_not_finite_stops_before_its_update(
    name: str, steps: int, bind: bool, tmp_path: Path
) -> None:
    settings = Momentous(learning_rate=0.01)
    w, v = settings.float_weight(1.0, name="w"), settings.array_weight(np.ones((2, 2), np.float32), name="v")
    factor, before = settings.array_weight(np.ones((), np.float32), name="factor"), list[str]()

    def loss(batch: Items[int], seed: Seeds | None) -> Any:
        before.append(told([w, v, factor]))
        found = wg.sum(wg.exp(v * np.float32(batch[0]))) * factor * w
        return looked_at(found) if bind else found

    def data(epoch: int) -> list[Items[int]]:
        return [Items([1000 if i == steps else 0]) for i in range(steps + 3)]

    with pytest.raises(NonFiniteError) as caught:
        fit(
            loss,
            data,
            seed=0,
            epochs=1,
            weights=[w, v, factor],
            checkpoint=tmp_path / "w",
            executor=EXECUTORS[name](),
        )
    assert told([w, v, factor]) == before[-1] and len(before) == steps + 1
    assert f"the loss of step {steps + 1} is inf, so all weights stay as they are" in str(caught.value)
    first, place = caught.value.__notes__
    assert "first not finite: exp" in first and "test_refused.py:" in first
    assert place == f"in step {steps + 1} of fit, batch {steps} of epoch 0"


def test_a_run_that_refuses_such_a_loss_names_the_step_too() -> None:
    class Careful(FailOnNonFinite, SGD):
        """No weight learns from what is not finite."""

    w = Careful(learning_rate=0.01).double_weight(0.0, name="w")
    with pytest.raises(NonFiniteError, match=r"the delta of .* is not finite, so it and all other") as caught:
        fit(lambda batch, seed: wg.exp(w / 1e-310), Items([1]), seed=0, epochs=1)
    assert w.data == 0.0 and "in step 1 of fit, batch 0 of epoch 0" in caught.value.__notes__


def test_data_that_cannot_be_taken_say_which_step() -> None:
    class Broken:
        def __len__(self) -> int:
            return 2

        def take(self, indices: Any, /) -> Points:
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone") as caught:
        fit(Model().loss, Broken(), seed=0, epochs=1)
    assert caught.value.__notes__ == ["in step 1 of fit, batch 0 of epoch 0"]


def test_a_validation_loss_that_is_not_finite_stops_too(tmp_path: Path) -> None:
    model = Model()

    def loss(batch: Points, seed: Seeds | None) -> wg.ArrayLayer[tuple[()]]:
        return model.loss(batch, seed) * np.float32(1.0 if seed else np.nan)

    with pytest.raises(NonFiniteError, match="the validation loss after step 3 is nan"):
        fit(loss, points(), seed=0, epochs=1, validation=points())


def test_whatever_a_step_raises_says_which_step() -> None:
    def loss(batch: Points, seed: Seeds | None) -> Any:
        return wg.cross_entropy(Model().net(batch.x), batch.label, reduction="none")

    with pytest.raises(ShapeError) as caught:
        fit(loss, points(), seed=0, epochs=1)
    assert "in step 1 of fit, batch 0 of epoch 0" in caught.value.__notes__
