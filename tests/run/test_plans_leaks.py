"""S13 with plans: nothing of a run outlives it, a thousand steps add nothing, and there are only so many plans."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.run.attacked import OPTIMIZERS, none_interrupted
from tests.run.counting import Boom, Counted
from tests.run.planned import eager
from tests.run.test_leaks import growth
from wengert.plugins import SGD

pytestmark = pytest.mark.usefixtures("collector_off")


class Net:
    """A small network, kept or built anew for each step."""

    def __init__(self, optimizer: str, kept: bool) -> None:
        settings = OPTIMIZERS[optimizer]()
        self.executor, self.plans = eager(worth=2)
        self.w = settings.array_weight(np.full((32, 64), 0.01, np.float32))
        self.v = settings.array_weight(np.full((64, 4), 0.01, np.float32))
        self.table = settings.array_weight(np.ones((20, 32), np.float32))
        self.kept = self.loss(0) if kept else None
        self.steps = 0

    def loss(self, i: int) -> Any:  # Any: an expression
        x = np.full((16, 32), 0.001 * (i % 7), np.float32) + wg.take(self.table, np.arange(i % 5, i % 5 + 16))
        return wg.cross_entropy(wg.tanh(x @ self.w) @ self.v, np.arange(16) % 4)

    def train(self) -> None:
        self.steps += 1
        (self.loss(self.steps) if self.kept is None else self.kept).train().run(self.executor)

    def predict(self) -> None:
        self.steps += 1
        (self.loss(self.steps) if self.kept is None else self.kept).predict().run(self.executor)

    def gradients(self) -> None:
        self.steps += 1
        loss = self.loss(self.steps) if self.kept is None else self.kept
        wg.gradients(loss, (self.w, loss, self.table)).run(self.executor)


@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "built anew"])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_1000_training_steps_grow_by_less_than_1_megabyte(optimizer: str, kept: bool) -> None:
    net = Net(optimizer, kept)
    net.train()
    with none_interrupted():
        assert growth(net.train, 1000) < 1_000_000
    assert net.plans.made == 1


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "built anew"])
@pytest.mark.parametrize("question", few(["predict", "gradients"], 1))
def test_questions_leave_nothing(question: str, kept: bool) -> None:
    net = Net("SGD", kept)
    with none_interrupted():
        assert growth(getattr(net, question), 300) < 300_000
    assert net.plans.made == 1


def test_runs_that_fail_leave_nothing() -> None:
    executor, _ = eager()
    counted = Counted()
    w = SGD(learning_rate=0.0).array_weight(np.ones((64, 64)))

    def step() -> None:
        with suppress(Boom):
            wg.sum(wg.tanh(counted.apply(wg.exp(w)))).train().run(executor)
        counted.forward.clear()
        counted.backward.clear()
        counted.log.clear()

    step()
    counted.forward_failure = Boom
    assert growth(step, 100) < 300_000


def alive_after(step: Callable[[Any], Any], runs: int) -> list[object]:
    """What is left of the arrays and expressions of some runs."""
    found: list[weakref.ref[Any]] = []  # Any: arrays and expressions
    for i in range(runs):
        found += map(weakref.ref, step(i))
    return [ref() for ref in found]


def test_neither_literals_nor_expressions_outlive_their_run() -> None:
    executor, plans = eager()
    w = SGD(learning_rate=0.5).array_weight(np.ones((3, 3)))

    def step(i: int) -> list[Any]:
        x = np.full((3, 3), float(i), np.float64)
        h = wg.tanh(w * x)
        loss = wg.sum(h @ h)
        found: list[Any] = [loss.predict().run(executor), loss.train().run(executor)]
        found += wg.gradients(loss, (w, h)).run(executor)
        return [h, loss, h.operands[0].operands[1], found[0], *found[2:]]

    step(0)
    assert plans.made == 3
    assert alive_after(step, 5) == [None] * 30


def test_weights_do_not_outlive_their_users() -> None:
    executor, plans = eager(worth=2)
    settings = OPTIMIZERS["Adam"]()

    def step(i: int) -> list[Any]:
        w = settings.array_weight(np.ones((3, 3)))
        for _ in range(4):
            wg.sum(w * float(i)).train().run(executor)
        return [w]

    step(0)
    assert plans.made == 1
    assert alive_after(step, 5) == [None] * 5


def test_buffers_of_a_plan_are_few_however_many_threads_there_were() -> None:
    executor, plans = eager()
    x = wg.exp(wg.literal(np.ones((8, 8)))) * 2.0
    x.predict().run(executor)
    (plan,) = plans._plans.items()
    sets = [plan.program.take() for _ in range(9)]
    for each in sets:
        plan.program.give(each)
    assert len(plan.program.free) <= 2


def test_plans_do_not_keep_what_they_ran() -> None:
    executor, _ = eager()
    settings = SGD(learning_rate=1.0)

    def step() -> None:
        w = settings.array_weight(np.ones((50, 50)))
        wg.sum(w * np.ones((50, 50))).train().run(executor)

    step()
    gc.collect()
    before = sum(issubclass(type(x), wg.ArrayWeight) for x in gc.get_objects())
    for _ in range(10):
        step()
    gc.collect()
    assert sum(issubclass(type(x), wg.ArrayWeight) for x in gc.get_objects()) == before
