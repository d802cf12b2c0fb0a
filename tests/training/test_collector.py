"""Python's collector does not go through the expression of a step while that lives, and runs between steps."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.training.models import Model, Points, points
from wengert import fold as td
from wengert.nn import Seeds
from wengert.training import InferPlan, evaluate, fit

pytestmark = pytest.mark.usefixtures("collector_on")


def test_fit_builds_and_runs_without_it() -> None:
    model, within, between = Model(), list[bool](), list[bool]()

    def loss(batch: Points, seed: Seeds | None) -> Any:
        within.append(gc.isenabled())
        return model.loss(batch, seed)

    def told(event: object) -> None:
        between.append(gc.isenabled())

    fit(loss, points(40), seed=0, steps=4, batch_size=16, validation=points(20), callbacks=[told], show=False)
    assert within == [False] * len(within) and len(within) > 4
    assert between == [True] * len(between) and len(between) > 4


def test_a_step_that_fails_brings_it_back() -> None:
    def loss(batch: Points, seed: Seeds | None) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fit(loss, points(40), seed=0, steps=4, show=False)
    assert gc.isenabled()


def test_measuring_and_plans_do_without_it() -> None:
    model, within = Model(), list[bool]()

    def accuracy(batch: Points) -> Any:
        within.append(gc.isenabled())
        return model.accuracy(batch)

    def double(x: Any) -> Any:
        within.append(gc.isenabled())
        return x * 2

    evaluate(model.loss, points(40), metrics={"accuracy": accuracy}, batch_size=16)
    block = td.InputTransform(double) >> td.Scalar() >> td.Function(wg.square)
    for (result,) in InferPlan(compiler=td.Compiler.create(block), examples=[1, 2, 3], batch_size=2).run():
        assert gc.isenabled() and isinstance(result, np.ndarray | np.generic)
    assert within == [False] * 6
