"""Expressions with binds, whose parts between binds programs run: drawn at random, and networks that decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import wengert as wg
from tests.executors.binds import a_constant, by_coroutine, by_flat_map, by_gather
from tests.often import few
from tests.run.attacked import OPTIMIZERS, none_interrupted
from tests.run.counting import Counted
from tests.run.drawn import MAKERS, Draw, Layer, Maker, network
from tests.run.planned import eager, plain, same, trained
from tests.run.waiting import (
    NAMES,
    Gated,
    bind,
    counting_maker,
    programs_counted,
)
from tests.test_examples import example
from wengert import ArrayLayer, Do, nn
from wengert.graph.order import below
from wengert.plugins import SGD
from wengert.run import Parallel, Sequential
from wengert.run.compiled.segment import BackwardCase


def both_ways(seed: int, steps: int, makers: Callable[[Counted], Sequence[Maker]]) -> dict[str, int]:
    """A network of a seed, trained both ways: the same results, failures, and calls of a user's rule."""
    found: list[Any] = []  # Any: losses and weights, or what was raised
    with programs_counted() as calls:
        for executor in (plain(), eager(worth=2)[0]):
            counted = Counted()
            made = network(seed, OPTIMIZERS[NAMES[seed % len(NAMES)]], makers(counted))
            with none_interrupted():
                found.append((trained(made, executor, steps), counted.calls))
    same(found[1][0], found[0][0])
    assert found[1][1] == found[0][1]
    return calls


@pytest.mark.parametrize("seed", few(range(40), 4, 16))
def test_random_graphs_with_binds_train_alike(seed: int) -> None:
    both_ways(seed, 5, lambda counted: (*MAKERS, *[bind] * 5, counting_maker(counted)))


def plain_bind(d: Draw, pool: list[Layer]) -> Layer:
    """A bind without a tape of a user's."""
    return bind(d, pool, (by_coroutine, by_flat_map, by_gather, a_constant))


@pytest.mark.slow
def test_random_graphs_go_back_by_one_program() -> None:
    gone = 0
    for seed in range(100, 130):
        gone += both_ways(seed, 8, lambda counted: (*MAKERS, *[plain_bind] * 3))["way"]
    assert gone > 30


@pytest.mark.parametrize("seed", few(range(200, 212), 4))
def test_random_graphs_have_the_same_gradients_and_data(seed: int) -> None:
    executor, _ = eager()
    weights, loss = network(seed, OPTIMIZERS["SGD"], (*MAKERS, *[plain_bind] * 3))()
    for step in range(4):
        x = loss(step)
        inner = [node for node in below(x, {})[0] if node.kind.trainable][:: 5 + seed % 3]
        same([np.array(x.predict().run(executor))], [np.array(x.predict().run(plain()))])
        for wrt in (list(weights), [*weights, *inner]):
            found, wanted = (wg.gradients(x, wrt).run(by) for by in (executor, plain()))
            same([*map(np.array, found)], [*map(np.array, wanted)])


def test_the_comparison_finds_a_difference() -> None:
    usual = BackwardCase.run

    def doubled(self: BackwardCase, *arguments: Any) -> Any:  # Any: as the usual one
        return [(x, delta + delta) for x, delta in usual(self, *arguments)]

    with patch.object(BackwardCase, "run", doubled), pytest.raises(AssertionError, match="Not equal"):
        both_ways(0, 5, lambda counted: (*MAKERS, *[bind] * 5, counting_maker(counted)))


# -- networks that decide ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", few(NAMES, 1))
def test_both_branches_train_to_the_same_bits(optimizer: str) -> None:
    ours, theirs = Gated(OPTIMIZERS[optimizer]()), Gated(OPTIMIZERS[optimizer]())
    executor = eager(worth=2)[0]
    with none_interrupted(), programs_counted() as calls:
        for i in range(60):
            same([ours.step(i, executor)], [theirs.step(i, plain())])
    same(ours.data(), theirs.data())
    assert ours.state() == theirs.state()
    assert ours.chosen == theirs.chosen
    assert {*ours.chosen} == {0, 1}
    assert calls["forward"] > 150
    assert calls["way"] > 50


def test_a_structure_comes_by_its_programs_when_it_is_hot_and_never_without_compiling() -> None:
    net = Gated()
    for executor, least, most in ((Sequential(), 1, 24), (Sequential(compiled=False), 0, 0)):
        with programs_counted() as calls:
            for _ in range(7):
                net.step(0, executor)
            assert calls["forward"] == calls["way"] == 0
            for _ in range(8):
                net.step(0, executor)
        assert least <= calls["forward"] <= most


def test_parallel_runs_them_too() -> None:
    ours, theirs = Gated(), Gated()
    executor = Parallel(threads=2)
    with programs_counted() as calls:
        for i in range(40):
            same([ours.step(i, executor)], [theirs.step(i, plain())])
    same(ours.data(), theirs.data())
    assert calls["forward"] > 50


class Speller:
    """Ten steps, each of which reads what the one before it said."""

    def __init__(self, cells: bool) -> None:
        chance = np.random.default_rng(0)
        settings = OPTIMIZERS["Momentum"]()
        self.rows = nn.Embedding.make(settings, 7, 5, seed=chance)
        self.lstm = nn.LSTMCell.make(settings, 5, 5, seed=chance)
        self.scores = nn.Linear.make(settings, 5, 7, seed=chance)
        self.weights: list[Any] = list(nn.weights((self.rows, self.lstm, self.scores)).values())
        step: Any = lambda x, state: self.lstm(x, state)  # noqa: E731 # a cell is made of it or not
        self.step = wg.cell(step) if cells else step
        self.said: list[int] = []

    def loss(self, i: int) -> Any:
        code = np.full(5, 0.1 * (i % 5), np.float32)

        @wg.differentiable
        async def cost() -> ArrayLayer[tuple[()], np.float32]:
            state, last = (wg.lift(code), wg.lift(code)), i % 7
            total: Any = 0.0
            for t in range(10):
                state = self.step(self.rows(np.array(last)), state)
                scores = self.scores(state[0])
                total = total + wg.cross_entropy(scores, np.array((i + t) % 7))
                last = int((await scores).argmax())
                self.said.append(last)
            made: ArrayLayer[tuple[()], np.float32] = total
            return made

        return cost()

    async def spelled(self, i: int) -> list[int]:
        code = np.full(5, 0.1 * (i % 5), np.float32)
        state, last, found = (wg.lift(code), wg.lift(code)), i % 7, list[int]()
        for _ in range(10):
            state = self.step(self.rows(np.array(last)), state)
            found.append(last := int((await self.scores(state[0])).argmax()))
        return found


@pytest.mark.slow
@pytest.mark.parametrize("cells", few([True, False], 1), ids=["cells", "operations"])
def test_a_decoder_trains_and_spells_alike(cells: bool) -> None:
    ours, theirs, executor = Speller(cells), Speller(cells), eager(worth=3)[0]
    with none_interrupted(), programs_counted() as calls:
        for i in range(20):
            same(
                [np.array(ours.loss(i).train().run(executor))],
                [np.array(theirs.loss(i).train().run(plain()))],
            )
            words = [Do.coroutine(lambda: net.spelled(i)) for net in (ours, theirs)]
            assert words[0].run(executor) == words[1].run(plain())
    same([np.array(w.data) for w in ours.weights], [np.array(w.data) for w in theirs.weights])
    assert ours.said == theirs.said
    assert calls["forward"] > 200
    assert calls["way"] > 10


@pytest.mark.slow
def test_the_calculator_whose_layers_are_chosen() -> None:
    module = example("calculator")
    chance = np.random.default_rng(0)
    batch = [module.expression(chance, 3) for _ in range(4)]
    ours, theirs, executor = module.Chosen(), module.Chosen(), eager(worth=2)[0]
    with none_interrupted(), programs_counted() as calls:
        for _ in range(6):
            same([ours.loss(batch).train().run(executor)], [theirs.loss(batch).train().run(plain())])
    assert ours.used == theirs.used
    assert calls["forward"] > 20


# -- what changes between runs ----------------------------------------------------------------------------------


def test_what_one_stretch_reads_may_be_a_node_of_another_alike() -> None:
    w = SGD(learning_rate=0.1).double_weight(0.5)

    @wg.differentiable
    async def network(inside: bool) -> wg.DoubleLayer:
        a, b = w * 2.0, w * 3.0
        await a, await b
        p = wg.exp(a)
        return p * a + (
            p if inside else b
        )  # the same operations, of which the last one reads one of them or b

    def values(executor: Sequential) -> list[float]:
        return [float(wg.gradients(network(i % 3 == 2), (w,)).run(executor)[0]) for i in range(12)]

    with none_interrupted():
        assert values(eager(worth=2)[0]) == values(plain())
