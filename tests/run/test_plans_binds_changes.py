"""Programs between binds when something changes between their runs, on several threads, and how long they live."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.attacked import OPTIMIZERS, none_interrupted
from tests.run.planned import eager, plain, same
from tests.run.test_leaks import growth
from tests.run.waiting import Gated, programs_counted
from wengert import ArrayLayer, Do, Tape
from wengert.extend import data_of
from wengert.graph.operand import external
from wengert.lazy import LazyDelta, Rows
from wengert.plugins import SGD


def test_other_settings_and_replaced_data_are_not_those_of_before() -> None:
    executor = eager(worth=2)[0]
    pairs = [(Gated(SGD(learning_rate=rate)), Gated(SGD(learning_rate=rate))) for rate in (0.5, 0.01)]
    for i in range(16):
        for ours, theirs in pairs:
            if i == 8:
                for w in (ours.head, theirs.head):
                    w.ref.data = np.asfortranarray(w.ref.data * 2.0)
            same([ours.step(i, executor)], [theirs.step(i, plain())])
    for ours, theirs in pairs:
        same(ours.data(), theirs.data())


@pytest.mark.slow
def test_values_that_are_views_of_weights_are_those_of_before_the_update() -> None:
    """Each weight's step is made of a view of the other's data, which change in place in the same commit."""
    found = []
    for executor in (eager(worth=2)[0], plain()):
        settings = SGD(learning_rate=0.001)
        chance = np.random.default_rng(0)
        # large enough for an update that is one product
        a, b = (settings.array_weight(chance.standard_normal((20, size)) / 99) for size in (1000, 1100))

        def loss(a: Any = a, b: Any = b) -> Any:
            left, right = wg.permute_dims(b, (1, 0)), wg.permute_dims(a, (1, 0))

            async def through() -> Any:
                await wg.sum(left)
                return wg.permute_dims(right, (1, 0))

            seen: Any = external(Do.coroutine(through).flat_map(lambda layer: layer.forward), a.kind)
            return wg.sum(wg.square(left @ a)) + wg.sum(wg.permute_dims(seen, (1, 0)) @ b) + wg.sum(right @ b)

        with programs_counted() as calls:
            losses = [loss().train().run(executor) for _ in range(6)]
        found.append([*losses, np.array(a.data), np.array(b.data)])
        assert (calls["way"] > 0) == (len(found) == 1)
    same(found[0], found[1])


def test_a_training_within_a_bind_is_part_of_the_run() -> None:
    """It changes weights between the way there and the way back."""
    nets = []
    for executor in (eager(worth=2)[0], plain()):
        net = Gated(OPTIMIZERS["Momentum"]())

        def inside(x: Any, net: Gated = net, executor: Any = executor) -> Any:
            wg.sum(net.head * net.head).train().run(executor)
            return x

        net.inside = inside
        for i in range(10):
            net.step(i, executor)
        nets.append(net)
    same(nets[0].data(), nets[1].data())
    assert nets[0].state() == nets[1].state()


def nested_cells() -> Callable[[Any], Any]:
    """Two results, one of them of a cell within."""
    inner = wg.cell(lambda x: wg.tanh(x) * 2.0)
    several = wg.cell(lambda x: (inner(x) + x, x * x))
    return lambda x: wg.subtract(*several(x))


def after_a_bind(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: f(ArrayLayer(x.forward))


BETWEEN: dict[str, Callable[[], Callable[[Any], Any]]] = {
    "operations": lambda: wg.sin,
    "cells": nested_cells,
    "after a bind of open kind": lambda: lambda x: ArrayLayer(x.forward) * 2.0 + 1.0,
    "cells after a bind of open kind": lambda: after_a_bind(nested_cells()),
}


def half(tape: Tape[Any, Any]) -> Any:
    return np.full(tape.data.shape, 0.5)


def test_a_sparse_delta_by_hand() -> None:
    """Which derivatives are not made for: the interpreter says so."""
    said = []
    for executor in (eager(worth=2)[0], plain()):
        net = Gated()

        def send(tape: Tape[Any, Any]) -> Do[None]:
            delta = LazyDelta([Rows(0, np.full(tape.data.shape[1:], 0.5, np.float64), tape.data.shape)])
            return Do.delay(tape.backward(Do.now(delta)).run)

        for i in range(4):
            with pytest.raises(TypeError) as failure:
                wg.tanh(wg.matmul(net.xs[i], net.below)).forward.flat_map(send).run(executor)
            said.append((str(failure.value), failure.value.__notes__))
    assert said[:4] == said[4:]


@pytest.mark.parametrize("between", BETWEEN)
def test_backward_by_hand(between: str) -> None:
    """Two tapes of one run, deltas sent to the middle of what a program has run, and to its end."""
    found = []
    for executor in (eager(worth=2)[0], plain()):
        net, through = Gated(), BETWEEN[between]()
        for i in range(8):
            h = through(wg.tanh(wg.matmul(net.xs[i], net.below)))
            y = wg.mean(h @ net.score, axis=0)

            def send(tapes: tuple[Tape[Any, Any], Tape[Any, Any]]) -> Do[None]:
                a, b = tapes
                sent = a.backward(Do.now(half(a))).flat_map(lambda _: b.backward(Do.now(half(b))))
                return Do.delay(sent.run)

            first, second = (y, h) if i % 2 else (h, y)
            wg.gather(first.forward, second.forward).flat_map(send).run(executor)
        found.append(net.data())
    same(found[0], found[1])


def test_scalars_and_weights_that_binds_give() -> None:
    found = []
    for executor in (eager(worth=2)[0], plain()):
        settings = OPTIMIZERS["Adam"]()
        a, b, c = (settings.double_weight(x) for x in (0.5, -1.5, 0.25))

        def loss(i: int, a: Any = a, b: Any = b, c: Any = c) -> Any:
            @wg.differentiable
            async def larger(x: wg.DoubleLayer) -> wg.DoubleLayer:
                return a * x if await x > i % 3 else wg.exp(x)

            async def weight() -> Any:
                return c if await (a * 1.0) > 0 else b

            given: Any = external(Do.coroutine(weight).flat_map(lambda layer: layer.forward), (a * 1.0).kind)
            return larger(a * b) * given + larger(wg.square(b)) + given * given

        losses = [float(loss(i).train().run(executor)) for i in range(12)]
        found.append([*losses, *map(data_of, (a, b, c))])
    assert found[0] == found[1]


@pytest.mark.usefixtures("switching_fast")
def test_runs_on_four_threads_lose_nothing() -> None:
    """S10: every update is a whole number, so their sum does not depend on who comes first."""
    executor = eager(worth=2)[0]
    w = SGD(learning_rate=1.0).array_weight(np.zeros(3))

    def step(i: int) -> None:
        x = w * 0.0 + float(i % 3)

        @wg.differentiable
        async def chosen() -> ArrayLayer[tuple[int, ...], np.float64]:
            up = bool((await x).sum() > 0)
            return w * 2.0 + x if up else w * 1.0 + x * 0.0

        wg.sum(chosen()).train().run(executor)

    def work() -> None:
        for i in range(60):
            step(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    with programs_counted() as calls:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert w.data.tolist() == [-4.0 * (40 * 2.0 + 20 * 1.0)] * 3
    assert calls["forward"] > 300


@pytest.mark.slow  # about 3 s
@pytest.mark.usefixtures("collector_off")
def test_2000_steps_grow_by_less_than_1_megabyte() -> None:
    net, executor = Gated(), eager(worth=2)[0]
    steps = count()
    with none_interrupted(), programs_counted() as calls:
        assert growth(lambda: net.step(next(steps), executor), 2000) < 1_000_000
    net.chosen.clear()
    assert calls["way"] > 1900


@pytest.mark.usefixtures("collector_off")
@pytest.mark.parametrize("question", ["predict", "train", "gradients"])
def test_nothing_of_a_run_outlives_it(question: str) -> None:
    net, executor = Gated(), eager(worth=2)[0]
    seen: list[weakref.ref[Any]] = []

    def noted(x: Any) -> Any:
        seen.append(weakref.ref(x))
        return x

    net.before = net.inside = noted
    for i in range(8):
        loss = net.loss(i)
        asked = wg.gradients(loss, (net.below,)) if question == "gradients" else getattr(loss, question)()
        asked.run(executor)
    del loss, asked
    assert len(seen) == 16
    assert [ref() for ref in seen] == [None] * 16


@pytest.mark.usefixtures("collector_off")
def test_weights_do_not_outlive_their_users() -> None:
    executor, settings = eager(worth=2)[0], SGD(learning_rate=0.1)
    alive: list[weakref.ref[Any]] = []
    for _ in range(3):
        net = Gated(settings)
        for i in range(6):
            net.step(i, executor)
        alive += map(weakref.ref, net.weights)
        del net
    assert [ref() for ref in alive] == [None] * 15
