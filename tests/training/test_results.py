"""A loss that gives results besides: metrics are functions of their data, in each step and in each evaluation."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert.data import Digits, digits
from wengert.nn import Linear
from wengert.plugins import SGD
from wengert.training import Epoch, Step, evaluate, fit
from wengert.training.records import _line


class Seen(NamedTuple):
    scores: Any
    size: Any


@cache
def data() -> Digits:
    return digits()


def _model() -> tuple[Any, Any]:
    model = Linear.make(SGD(learning_rate=0.5), 64, 10, seed=0)

    def loss(batch: Digits, seed: object) -> Any:
        scores = model(batch.images)
        return wg.cross_entropy(scores, batch.labels), Seen(scores, wg.mean(wg.abs(model.weight)))

    return model, loss


def accuracy(batch: Digits, seen: Any) -> float:
    return float(np.mean(seen.scores.argmax(axis=1) == batch.labels))


def test_metrics_of_steps_are_from_before_the_update() -> None:
    model, loss = _model()
    steps: list[Any] = []
    sizes = [float(np.mean(np.abs(model.weight.data)))]

    def tell(event: object) -> None:
        if isinstance(event, Step):
            steps.append(event)
            sizes.append(float(np.mean(np.abs(model.weight.data))))

    history = fit(loss, data(), seed=0, steps=20, metrics={"accuracy": accuracy}, callbacks=[tell])
    assert [step.metrics["size"] for step in steps] == pytest.approx(sizes[:-1], rel=1e-5)
    assert steps[0].metrics["accuracy"] < 0.5 < steps[-1].metrics["accuracy"]
    assert steps[3].metrics.keys() == {"size", "accuracy"}
    plain, _ = _model()
    only = fit(lambda b, s: wg.cross_entropy(plain(b.images), b.labels), data(), seed=0, steps=20)
    assert only.losses == history.losses


def test_metrics_of_an_evaluation() -> None:
    model, loss = _model()
    found = evaluate(loss, data(), metrics={"accuracy": accuracy})
    right = model(data().images).predict().run().argmax(axis=1) == data().labels
    assert found.metrics["accuracy"] == pytest.approx(np.mean(right), rel=1e-6)
    assert found.metrics["size"] == pytest.approx(np.mean(np.abs(model.weight.data)), rel=1e-5)
    history = fit(loss, data(), seed=0, epochs=1, validation=data(), metrics={"accuracy": accuracy})
    assert history.epochs[0].metrics["accuracy"] > 0.5


def test_the_bar_has_them() -> None:
    assert _line(Step(1, 0, 0, 9, 0.5, {"accuracy": 0.25})) == "loss 0.5000, accuracy 0.2500"
    assert _line(Epoch(1, 9, 0.5, 0.75, {"a": 1.0})) == "epoch 1: loss 0.5000, validation 0.7500, a 1.0000"


@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_dictionary_of_results(accumulate: int) -> None:
    """Its numbers are metrics by their names, and a metric that is given gets it as it is."""
    model, tuples = _model()
    steps: list[Any] = []

    def loss(batch: Digits, seed: object) -> Any:
        value, seen = tuples(batch, seed)
        return value, {"scores": seen.scores, "size": seen.size}

    fit(
        loss,
        data(),
        seed=0,
        steps=3,
        accumulate=accumulate,
        metrics={"accuracy": lambda batch, seen: float(np.mean(seen["scores"].argmax(1) == batch.labels))},
        callbacks=[lambda event: steps.append(event) if isinstance(event, Step) else None],
    )
    assert [step.metrics.keys() for step in steps] == [{"size", "accuracy"}] * 3
    found = evaluate(loss, data()).metrics
    assert found == {"size": pytest.approx(float(np.mean(np.abs(model.weight.data))), rel=1e-5)}
