"""Metrics: those of scikit-learn; of many unequal batches as of all examples at once; in `fit` and plans of `fold`."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.training.models import Model, Points, points
from wengert import fold as td
from wengert import metrics
from wengert.errors import ArgumentError, ShapeError
from wengert.metrics import AUC, F1, R2, Accuracy, ConfusionMatrix, Mean, Perplexity, Precision, Recall, TopK
from wengert.training import EvalPlan, evaluate, fit

CHANCE = np.random.default_rng(0)
SCORES = CHANCE.standard_normal((97, 5)).round(1)  # with ties
LABELS = CHANCE.integers(0, 4, 97)  # the last class is never right
Y = 1e6 + CHANCE.standard_normal(97)
CUTS = [(0, 1), (1, 40), (40, 90), (90, 97)]
Rows = slice
CASES: dict[str, Callable[[Rows], metrics.Mergeable]] = {
    "Mean": lambda r: Mean.of(Y[r]),
    "Accuracy": lambda r: Accuracy.of(SCORES[r], LABELS[r]),
    "TopK": lambda r: TopK.of(SCORES[r], LABELS[r], k=2),
    "ConfusionMatrix": lambda r: ConfusionMatrix.of(SCORES[r], LABELS[r], classes=5),
    "Precision": lambda r: Precision.of(SCORES[r], LABELS[r], classes=5),
    "Recall": lambda r: Recall.of(SCORES[r], LABELS[r], classes=5),
    "F1": lambda r: F1.of(SCORES[r], LABELS[r], classes=5),
    "AUC": lambda r: AUC.of(SCORES[r, 0], LABELS[r] == 0),
    "Perplexity": lambda r: Perplexity.of(np.abs(SCORES[r, 0])),
    "R2": lambda r: R2.of(Y[r] + 0.1 * SCORES[r, 0], Y[r]),
}


@pytest.mark.parametrize("name", CASES)
def test_unequal_batches_are_as_all_at_once(name: str) -> None:
    parts = [CASES[name](slice(*cut)) for cut in CUTS]
    whole = CASES[name](slice(None)).value
    assert reduce(lambda a, b: a.merge(b), parts).value == pytest.approx(whole, rel=1e-12)
    assert parts[0].merge(parts[1].merge(parts[2])).value == pytest.approx(
        parts[0].merge(parts[1]).merge(parts[2]).value, rel=1e-12
    )
    assert np.mean([part.value for part in parts]) != pytest.approx(whole, rel=1e-9), (
        "a mean of means is none"
    )
    assert pickle.loads(pickle.dumps(parts[1])).value == parts[1].value


def test_every_metric_is_a_case() -> None:
    assert {*CASES} | {"Mergeable"} == {*metrics.__all__}


@pytest.mark.filterwarnings("ignore")  # scikit-learn's, of the class that is never predicted
def test_they_are_those_of_scikit_learn() -> None:
    ours: dict[str, float] = {name: make(slice(None)).value for name, make in CASES.items()}
    sk: Any = pytest.importorskip("sklearn.metrics", reason="of the extra `examples`")
    predicted, macro = SCORES.argmax(axis=1), {"average": "macro", "zero_division": 0.0}
    theirs = {
        "Accuracy": sk.accuracy_score(LABELS, predicted),
        "Precision": sk.precision_score(LABELS, predicted, **macro),
        "Recall": sk.recall_score(LABELS, predicted, **macro),
        "F1": sk.f1_score(LABELS, predicted, **macro),
        "AUC": sk.roc_auc_score(LABELS == 0, SCORES[:, 0]),
        "R2": sk.r2_score(Y, Y + 0.1 * SCORES[:, 0]),
    }
    assert {name: ours[name] for name in theirs} == pytest.approx(theirs, rel=1e-9)
    matrix = ConfusionMatrix.of(predicted, LABELS, classes=5)
    assert np.array_equal(matrix.counts, sk.confusion_matrix(LABELS, predicted, labels=range(5)))
    assert matrix.f1("micro") == pytest.approx(sk.f1_score(LABELS, predicted, average="micro"))
    order = np.argsort(-SCORES, axis=1, kind="stable")[:, :2]
    assert ours["TopK"] == np.mean(np.any(order == LABELS[:, None], axis=1))


def test_of_nothing_there_is_no_number() -> None:
    empty = np.zeros(0)
    for found in (Mean(), Accuracy(), Perplexity(), R2(), AUC(), AUC.of([0.1], [1]), R2.of([1.0], [1.0])):
        assert math.isnan(found.value)
    assert math.isnan(Mean.of(empty).value) and Perplexity(1e6, 1).value == math.inf
    assert R2().merge(R2()) == R2() and math.isnan(ConfusionMatrix(((0, 0), (0, 0))).f1())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Accuracy.of([1, 2], [1]), "Accuracy: there are 2 predictions and 1 labels"),
        (lambda: TopK.of([[0.1, 0.2]], [2], k=1), "TopK: there is the class 2, and classes=2 are 0 to 1"),
        (lambda: TopK.of([[0.1, 0.2]], [1], k=0), "TopK: k is an integer from 1 on; got 0"),
        (lambda: F1.of([0], [-1], classes=2), "F1: there is the class -1"),
        (lambda: F1(((1,),)).merge(F1(((1, 0), (0, 1)))), "F1: one is of 1 classes, the other of 2"),
        (lambda: AUC.of([0.5], [2]), r"AUC: labels are 0 or 1; got \[2.0\]"),
        (lambda: R2.of([0.5], [2, 1]), "R2: there are 1 predictions and 2 labels"),
        (lambda: F1(((1,),)).f1("weighted"), "average is 'macro' or 'micro'"),  # type: ignore[arg-type] # a test of that
    ],
)
def test_what_does_not_fit_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises((ArgumentError, ShapeError), match=said):
        make()


def test_evaluate_and_fit_merge_them() -> None:
    model = Model(drop=0.0)

    def loss(batch: Points, seed: object) -> Any:
        scores = model.net(batch.x)
        return wg.cross_entropy(scores, batch.label), scores

    def f1(batch: Points, scores: Any) -> F1:
        return F1.of(scores, batch.label, classes=2)

    data = points(90)
    found = evaluate(loss, data, metrics={"f1": f1}, batch_size=7)
    scores = model.net(data.x).predict().run()
    assert found.metrics["f1"] == pytest.approx(F1.of(scores, data.label, classes=2).value, rel=1e-12)
    steps: list[Any] = []
    history = fit(
        loss,
        data,
        seed=0,
        epochs=1,
        validation=data,
        metrics={"f1": f1},
        callbacks=[steps.append],
        show=False,
    )
    assert 0.0 <= steps[0].metrics["f1"] <= 1.0 and history.epochs[0].metrics.keys() == {"f1"}


def level(found: Any) -> R2:
    return R2.of(np.ones(len(found)), found)


def test_plans_of_fold_merge_them() -> None:
    plan = EvalPlan(compiler=td.Compiler.create(td.Scalar()), examples=[0.0, 1.0, 5.0], batch_size=2)
    plan.losses = {"mean": lambda batch: wg.mean(batch.output_tensors[0])}
    plan.metrics = {"r2": lambda batch: level(batch.output_tensors[0].predict().run())}
    plan.report = lambda line: None
    assert plan.run().metrics["r2"] == pytest.approx(R2.of([1.0] * 3, [0.0, 1.0, 5.0]).value)
