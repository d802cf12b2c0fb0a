"""A plan of many small nodes is made in steps, one a run; until it is ready the interpreter runs."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from threading import Thread
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import wengert as wg
from tests.optimizers import WithAdam
from tests.run.planned import plain, same
from wengert import run
from wengert.plugins import SGD
from wengert.run import Sequential
from wengert.run.compiled import segment
from wengert.run.compiled.plan import Plan
from wengert.run.compiled.plans import Plans

# Any in all: settings, weights and expressions of every column


def stepwise(worth: int = 2) -> tuple[Sequential, Plans]:
    """An interpreter that makes plans in steps."""
    executor = Sequential()
    plans = Plans(worth, in_steps=True)
    executor.engine = executor.engine._replace(plans=plans)
    return executor, plans


class Net:
    """Products of numbers, and of small arrays in branches that are alike."""

    def __init__(self, settings: Any, depth: int = 40) -> None:
        chance = np.random.default_rng(0)
        self.depth = depth
        self.numbers = [settings.double_weight(0.9 + 0.01 * i) for i in range(3)]
        self.arrays = [settings.array_weight(chance.standard_normal((4, 4))) for _ in range(6)]
        self.weights = [*self.numbers, *self.arrays]

    def loss(self, i: int) -> Any:
        x: Any = wg.lift(0.5 + i)
        for k in range(self.depth):
            x = x * self.numbers[k % 3] + 0.01 * k
        h = np.random.default_rng(i).standard_normal((2, 4))
        heads = [wg.mean(wg.relu(wg.tanh(h @ w) @ w)) for w in self.arrays]
        return sum(heads[1:], heads[0]) + wg.tanh(x)


def ready(plans: Plans) -> list[Plan]:
    return [plan for plan in plans._plans.items() if plan.ready]


@pytest.mark.parametrize("settings", [SGD, WithAdam])
def test_training_is_that_of_the_interpreter_all_the_way(settings: Any) -> None:
    ours, theirs = Net(settings(learning_rate=0.05)), Net(settings(learning_rate=0.05))
    executor, plans = stepwise()
    advance, steps = Plan.advance, []
    with patch.object(Plan, "advance", lambda plan: steps.append(plan) or advance(plan)):  # type: ignore[func-returns-value]
        for i in range(40):
            before = len(steps)
            same(
                [np.array(ours.loss(i).train().run(executor))],
                [np.array(theirs.loss(i).train().run(plain()))],
            )
            assert len(steps) <= before + 1
        assert len(steps) > 10
    same([np.array(w.data) for w in ours.weights], [np.array(w.data) for w in theirs.weights])
    (plan,) = ready(plans)
    assert plan.homes, "branches are stacked, though weights have changed since they were traced"


def test_what_is_asked_otherwise_too() -> None:
    net, (executor, plans) = Net(SGD(learning_rate=0.0)), stepwise()
    for i in range(30):
        x, wrt = net.loss(i), (net.numbers[0], net.arrays[2])
        same([np.array(x.predict().run(executor))], [np.array(x.predict().run(plain()))])
        ours, theirs = wg.gradients(x, wrt).run(executor), wg.gradients(x, wrt).run(plain())
        same(list(map(np.array, ours)), list(map(np.array, theirs)))
    assert len(ready(plans)) == 2


def test_one_of_large_nodes_is_made_at_once() -> None:
    executor, plans = stepwise()
    w = SGD(learning_rate=0.0).array_weight(np.ones((200, 200)))
    for _ in range(2):
        wg.mean(wg.tanh(w @ w)).train().run(executor)
    assert len(ready(plans)) == 1


def test_settings_that_change_on_the_way_have_a_plan_of_their_own() -> None:
    ours, theirs = (Net(SGD(learning_rate=0.05)) for _ in range(2))
    executor, _ = stepwise()
    for i in range(60):
        if i == 6:
            for net in (ours, theirs):
                other = SGD(learning_rate=0.5)
                for w in net.weights:
                    w.settings = other
                    w.optimizer = type(w.optimizer)(other)
        same([np.array(ours.loss(i).train().run(executor))], [np.array(theirs.loss(i).train().run(plain()))])
    same([np.array(w.data) for w in ours.weights], [np.array(w.data) for w in theirs.weights])


def test_a_signal_that_ends_the_making_leaves_no_half_of_a_plan() -> None:
    ours, theirs = (Net(SGD(learning_rate=0.05)) for _ in range(2))
    executor, plans = stepwise()

    def stopped() -> Iterator[None]:
        raise KeyboardInterrupt
        yield

    for i in range(4):
        same([np.array(ours.loss(i).train().run(executor))], [np.array(theirs.loss(i).train().run(plain()))])
    (plan,) = plans._plans.items()
    assert not plan.ready
    plan._steps = stopped()
    with pytest.raises(KeyboardInterrupt):
        ours.loss(4).train().run(executor)
    for i in range(60):
        same([np.array(ours.loss(i).train().run(executor))], [np.array(theirs.loss(i).train().run(plain()))])
    assert not plan.usable
    assert any(x.usable for x in plans._plans.items()), "another is made in its place"
    same([np.array(w.data) for w in ours.weights], [np.array(w.data) for w in theirs.weights])


def test_one_in_the_making_counts_and_may_have_to_go() -> None:
    executor, plans = stepwise()
    net, other = Net(SGD(learning_rate=0.0)), Net(SGD(learning_rate=0.0), depth=30)
    before = run.set_cache_limit(0)
    try:
        for i in range(4):
            net.loss(i).train().run(executor)
        (plan,) = map(weakref.ref, plans._plans.items())
        assert plan().size() > 10_000  # type: ignore[union-attr] # alive
        for i in range(2):
            other.loss(i).train().run(executor)
        gc.collect()
        assert plan() is None
    finally:
        run.set_cache_limit(before)


def test_threads_share_the_steps() -> None:
    executor, plans = stepwise()
    net, wrong = Net(SGD(learning_rate=0.0)), list[object]()
    wanted = [net.loss(i).predict().run(plain()) for i in range(30)]

    def work() -> None:
        try:
            found = [net.loss(i).predict().run(executor) for i in range(30)]
            wrong.extend(a for a, b in zip(found, wanted, strict=True) if a != b)
        except BaseException as failure:  # told below
            wrong.append(failure)

    threads = [Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(ready(plans)) >= 1


def test_light_is_told_by_shapes() -> None:
    small, large = (SGD(learning_rate=0.0).array_weight(np.ones((n, n))) for n in (8, 128))
    for w, light in ((small, True), (large, False)):
        nodes, _ = wg.graph.order.below(wg.tanh(w * w), ())
        assert segment.is_light(nodes) is light
