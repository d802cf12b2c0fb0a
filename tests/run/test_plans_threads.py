"""S10 with plans: runs at the same time, and within one another, are as if they came one after the other."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.attacked import OPTIMIZERS, none_interrupted
from tests.run.planned import eager, plain, same, trained
from wengert.extend import kinds
from wengert.plugins import SGD


@pytest.mark.usefixtures("switching_fast")
def test_predictions_during_training_see_whole_versions() -> None:
    """S10: two weights that always differ by 1, through 2,000 predictions while a plan trains both."""
    executor, _ = eager()
    settings = SGD(learning_rate=1.0)
    a, b = settings.array_weight(np.zeros(16)), settings.array_weight(np.ones(16))
    x, done, wrong = np.ones(16), threading.Event(), list[Any]()

    def trains() -> None:
        while not done.is_set():
            wg.sum(a * x + b * x).train().run(executor)

    def predicts() -> None:
        for _ in range(1000):
            gap = (b - a * x).predict().run(executor)
            if (gap != 1.0).any():
                wrong.append(gap)

    threads = [threading.Thread(target=f) for f in (predicts, predicts, trains)]
    with none_interrupted():
        for thread in threads:
            thread.start()
        for thread in threads[:2]:
            thread.join()
        done.set()
        threads[2].join()
    assert not wrong
    assert (b.data - a.data == 1.0).all()


class Raced(dict[int, Any]):  # Any: structures
    """Structures that another thread, which met others, has just taken away."""

    def get(self, key: int, default: Any = None) -> Any:
        found = super().get(key, default)
        return self.pop(key, default) if found is not None and found.tried else found


def test_a_structure_that_two_threads_have_counted_at_once() -> None:
    executor, plans = eager(worth=3)
    plans._structures = Raced()
    w = SGD(learning_rate=0.0).double_weight(2.0)
    assert [(w * 3.0 + 1.0).predict().run(executor) for _ in range(5)] == [7.0] * 5
    assert plans.made == 1


def test_a_training_within_a_rule_is_not_lost() -> None:
    """S10: a training started by a training is part of it, by whatever way the outer one runs."""

    def network() -> tuple[Sequence[Any], Any]:
        settings = OPTIMIZERS["Momentum"]()
        w, v = settings.double_weight(1.0), settings.array_weight(np.ones(2))
        inside: list[bool] = []

        def value(case: Any, x: Any) -> Any:
            if not inside:
                inside.append(True)
                (w * 10.0 + wg.sum(v)).train().run(plain())
                inside.clear()
            return x * 1.0

        training = wg.extend.Operation(
            "training", wg.extend.Rules(kinds.elementwise, value, (lambda c, g, y, x: g,)), __name__
        )
        return (w, v), lambda i: wg.extend.unary(training, w * 2.0) + wg.sum(v * w)

    executor, _ = eager(worth=2)
    same(trained(network, plain()), trained(network, executor))


def test_a_result_that_is_a_weights_old_data_is_a_copy() -> None:
    """The weight changes between the run of the program and the handing over."""
    executor, plans = eager()
    w = SGD(learning_rate=1.0).array_weight(np.ones(3))
    y = wg.stop_gradient(w)
    y.predict().run(executor)
    (plan,) = plans._plans.items()
    run, before = plan.program.run, []

    def and_train(*arguments: Any) -> Any:
        outputs = run(*arguments)
        before.append(w.ref.data)
        wg.sum(w * 1.0).train().run(plain())
        return outputs

    plan.program.run = and_train
    found = y.predict().run(executor)
    assert (found == 1.0).all()
    assert (w.data == 0.0).all()
    assert not np.shares_memory(found, before[0])


def test_many_threads_run_one_plan() -> None:
    executor, plans = eager()
    w = SGD(learning_rate=1.0).array_weight(np.zeros(64))
    xs = [np.full(64, float(i)) for i in range(8)]
    wrong: list[Any] = []

    def predicts(x: Any) -> None:
        for _ in range(200):
            if ((w + x) * (w + x) + x).predict().run(executor)[3] != x[0] * x[0] + x[0]:
                wrong.append(x[0])

    x = np.zeros(64)
    assert ((w + x) * (w + x) + x).predict().run(executor)[3] == 0.0  # makes it, before they race
    threads = [threading.Thread(target=predicts, args=(x,)) for x in xs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert plans.made == 1


def test_trainings_by_plan_in_many_threads_lose_no_update() -> None:
    executor, _ = eager()
    w = SGD(learning_rate=1.0).array_weight(np.zeros(8))

    def trains() -> None:
        for _ in range(100):
            wg.sum(w * -1.0).train().run(executor)

    threads = [threading.Thread(target=trains) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (w.data == 400.0).all()
