"""Equal branches of a network run as one call, with the bits of the single ones; what is not equal stays single."""

from __future__ import annotations

import re
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.run.attacked import OPTIMIZERS, none_interrupted
from tests.run.branches import Heads, heads, repeated, single, stacks
from tests.run.planned import Watched, eager, plain, same, trained, untimed
from wengert.plugins import SGD, Adam, LearningRate, Momentum
from wengert.program import siblings
from wengert.run import Parallel, Sequential

# Any in all: networks are weights and a loss of every column

ONES: Any = np.ones((2, 3))


def calls(plans: Watched) -> int:
    """How many functions are called and numbers added; several numbers may be added in one line."""
    (source,) = plans.sources()
    return len(re.findall(r"\bk\d+\(| \+ ", source))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("optimizer", few(sorted(OPTIMIZERS), 1))
def test_heads_train_as_the_interpreter_trains_them(optimizer: str, dtype: Any) -> None:
    network = heads(OPTIMIZERS[optimizer], dtype=dtype)
    executor, plans = eager()
    with none_interrupted():
        found = trained(network, executor, steps=12)
    assert stacks(plans)
    same(found, trained(network, plain(), steps=12))


def test_as_many_calls_for_twenty_heads_as_for_ten() -> None:
    """But for the sums of their losses and of their deltas, which stay chains: a branch and an addition each."""
    counts = []
    for branches in (10, 20):
        executor, plans = eager()
        trained(heads(branches=branches), executor, steps=3)
        counts.append(calls(plans))
        assert stacks(plans) == 3
    assert 4 * 10 <= counts[1] - counts[0] < 5 * 10


@pytest.mark.parametrize("branches", [2, 5])
def test_few_branches_stay_single(branches: int) -> None:
    executor, plans = eager()
    trained(heads(branches=branches), executor, steps=3)
    assert not stacks(plans)


def test_large_branches_stay_single() -> None:
    executor, plans = eager()
    settings = SGD(learning_rate=0.1)
    weights = [settings.array_weight(np.full((100, 100), 0.01, np.float64)) for _ in range(6)]
    loss = reduce(add, [wg.sum(wg.tanh(wg.lift(np.ones((2, 100))) @ w)) for w in weights])
    for _ in range(3):
        wg.train(loss).run(executor)
    assert plans.made
    assert not stacks(plans)


def test_not_stacked_where_it_is_switched_off() -> None:
    network = heads()
    executors: list[Any] = [Sequential(stacked=False), Parallel(threads=2, stacked=False)]
    for off in map(untimed, executors):
        inner = getattr(off, "inner", off)
        trained(network, off, steps=12)
        plans = inner.engine.plans._plans.items()
        assert not plans[0].homes
    executor, plans = single()
    same(trained(network, executor), trained(network, plain()))
    assert not stacks(plans)


@pytest.mark.slow
@pytest.mark.parametrize("executor", [Sequential(), Parallel(threads=2)])
def test_stacked_as_users_run_it(executor: Any) -> None:
    network = heads(branches=8)
    found = trained(network, untimed(executor), steps=30)
    plans = getattr(executor, "inner", executor).engine.plans._plans.items()
    assert len(plans[0].homes) == 3
    same(found, trained(network, plain(), steps=30))


# in the first three, six of several calls that go on alike come from one stack
@pytest.mark.parametrize("seed", few([2063, 2296, 2357, *range(2000, 2024)], 1, 12))
def test_random_branches_train_alike(seed: int) -> None:
    """To a tolerance: the numbers that the drawn networks are given come in any order in memory."""
    network = repeated(seed, (6, 9)[seed % 2], OPTIMIZERS[sorted(OPTIMIZERS)[seed % len(OPTIMIZERS)]])
    executor, _ = eager()
    with none_interrupted():
        found = trained(network, executor, steps=4)
    wanted = trained(network, plain(), steps=4)
    same(found, wanted, 1e-10 if found[0].dtype == np.float64 else 1e-4)


@pytest.mark.parametrize("mode", ["predict", "gradients"])
def test_data_and_gradients_of_heads(mode: str) -> None:
    net = Heads(SGD(learning_rate=0.1))
    executor, plans = eager()
    with none_interrupted():
        for step in range(4):
            x = net.loss(step)
            if mode == "predict":
                found, wanted = ([np.array(x.predict().run(by))] for by in (executor, plain()))
            else:
                found, wanted = (
                    [np.array(d) for d in wg.gradients(x, net.weights).run(by)] for by in (executor, plain())
                )
            same(found, wanted)
    assert stacks(plans)


def test_heads_of_several_settings_are_stacked_by_settings() -> None:
    def network() -> Any:
        chance = np.random.default_rng(3)
        rates = [SGD(learning_rate=rate) for rate in (0.1, 0.5)]
        weights = [rates[i % 2].array_weight(chance.uniform(-1, 1, (3, 3))) for i in range(16)]
        x = ONES
        return weights, lambda i: reduce(add, [wg.sum(wg.tanh(x @ w + i)) for w in weights])

    executor, plans = eager()
    found = trained(network, executor)
    assert stacks(plans) == 2
    same(found, trained(network, plain()))


def test_a_settings_object_for_each_weight_leaves_them_single() -> None:
    def network() -> Any:
        weights = [
            SGD(learning_rate=0.1 * i).array_weight(np.full((3, 3), 0.1 * i, np.float64)) for i in range(1, 8)
        ]
        return weights, lambda i: reduce(add, [wg.sum(wg.tanh(ONES @ w)) for w in weights])

    executor, plans = eager()
    found = trained(network, executor)
    assert not stacks(plans)
    same(found, trained(network, plain()))


def test_two_kinds_of_optimizers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(siblings, "_WORTH", 1.0)  # their steps are single calls

    class First(Adam, LearningRate): ...

    class Second(Momentum, LearningRate): ...

    def network() -> Any:
        settings = [First(learning_rate=0.1), Second(learning_rate=0.1)]
        weights = [settings[i > 7].array_weight(np.full((3, 3), 0.1 * i, np.float64)) for i in range(16)]
        return weights, lambda i: reduce(add, [wg.sum(wg.tanh(ONES @ w)) for w in weights])

    executor, plans = eager()
    found = trained(network, executor, steps=8)
    assert stacks(plans) == 2
    same(found, trained(network, plain(), steps=8))


def test_siblings_that_share_a_weight() -> None:
    def network() -> Any:
        settings = SGD(learning_rate=0.05)
        shared = settings.array_weight(np.linspace(-1, 1, 9).reshape(3, 3))
        own = [settings.array_weight(np.full((3, 3), 0.1 * i, np.float64)) for i in range(10)]
        x = ONES
        return [shared, *own], lambda i: reduce(add, [wg.sum(wg.tanh(x @ w) @ shared * i) for w in own])

    executor, plans = eager()
    found = trained(network, executor)
    assert stacks(plans) == 1
    same(found, trained(network, plain()))


def test_a_weight_that_two_of_the_siblings_have() -> None:
    def network() -> Any:
        settings = SGD(learning_rate=0.05)
        own = [settings.array_weight(np.full((3, 3), 0.1 * i, np.float64)) for i in range(10)]
        x = ONES
        return own, lambda i: reduce(
            add, [wg.sum(wg.tanh((x + j) @ w)) for j, w in enumerate([*own, own[2]])]
        )

    executor, _ = eager()
    same(trained(network, executor), trained(network, plain()))


def test_weights_that_are_used_elsewhere_too() -> None:
    net = heads()

    def network() -> Any:
        weights, loss = net()
        one = weights[4]
        return weights, lambda i: wg.sum(wg.square(one)) * 0.01 + loss(i) + wg.max(weights[7]) * wg.sum(one)

    executor, plans = eager()
    found = trained(network, executor, steps=8)
    assert stacks(plans)
    same(found, trained(network, plain(), steps=8))


def test_weights_that_stand_in_two_orders() -> None:
    """They can live in one array only; in the other order they are copied, or their calls stay single."""

    def network() -> Any:
        settings = SGD(learning_rate=0.05)
        own = [settings.array_weight(np.full((3, 3), 0.1 * i + 0.1, np.float64)) for i in range(6)]
        x = ONES

        def loss(i: int) -> Any:
            there = [wg.tanh(x @ w) for w in own]
            back = [wg.tanh(h @ w) for h, w in zip(there, own[2:] + own[:2], strict=True)]
            return reduce(add, [wg.sum(h) for h in back])

        return own, loss

    executor, _ = eager()
    same(trained(network, executor), trained(network, plain()))


def test_a_branch_that_depends_on_its_sibling() -> None:
    """A chain of equal layers: none is a sibling of another."""

    def network() -> Any:
        settings = SGD(learning_rate=0.05)
        layers = [settings.array_weight(np.full((3, 3), 0.1 * i, np.float64)) for i in range(1, 9)]

        def loss(i: int) -> Any:
            h: Any = np.full((2, 3), 0.1 * i)
            for w in layers:
                h = wg.tanh(h @ w + 0.1)
            return wg.sum(h)

        return layers, loss

    executor, plans = eager()
    found = trained(network, executor)
    assert plans.made == 1
    same(found, trained(network, plain()))


def test_one_array_as_the_literal_of_all_branches() -> None:
    data: Any = np.linspace(-1, 1, 6)

    def network() -> Any:
        settings = SGD(learning_rate=0.05)
        own = [settings.array_weight(data) for _ in range(6)]
        return own, lambda i: reduce(add, [wg.sum(wg.tanh(w * data + data[::-1]) * i) for w in own])

    executor, _ = eager()
    same(trained(network, executor), trained(network, plain()))


def test_a_cell_with_labels_for_all_branches_is_stacked() -> None:
    def network() -> Any:
        settings = SGD(learning_rate=0.05)
        heads = [settings.array_weight(np.full((3, 3), 0.1 * i, np.float64)) for i in range(1, 9)]

        @wg.cell
        def loss(h: Any, labels: Any) -> Any:
            return reduce(add, [wg.cross_entropy(wg.tanh(h @ w), labels) for w in heads])

        return heads, lambda i: loss(np.full((2, 3), 0.1 * i), np.array([i % 3, 2]))

    executor, plans = eager()
    found = trained(network, executor)
    assert plans.made == 1
    assert stacks(plans) == 1
    same(found, trained(network, plain()))


def test_labels_that_are_no_class_are_told_as_by_the_interpreter() -> None:
    executor, _ = eager()
    net = Heads(SGD(learning_rate=0.1))
    for step in range(3):
        wg.train(net.loss(step)).run(executor)
    h = net.hidden(0)
    with pytest.raises(wg.errors.ShapeError, match="label 3"):
        wg.cross_entropy(wg.tanh(h @ net.heads[0][0]) @ net.heads[0][2], np.array([0, 1, 2, 3]))


def test_infinite_and_missing_numbers_stay_with_their_branch() -> None:
    def network() -> Any:
        settings = SGD(learning_rate=0.1)
        start = [0.1, np.inf, -np.inf, np.nan, 1e300, -0.0]
        own = [settings.array_weight(np.full((3, 3), x, np.float64)) for x in start]
        return own, lambda i: reduce(add, [wg.sum(wg.logsumexp(w * 0.5, axis=-1)) for w in own])

    executor, _ = eager()
    same(trained(network, executor, steps=3), trained(network, plain(), steps=3))
