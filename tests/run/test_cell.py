"""A cell is one node a call, and does what its function does (interpreted, planned, in binds; S2)."""

from __future__ import annotations

import gc
import weakref
from functools import partial
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from tests.run.cells import F64, SETTINGS, open_shape
from tests.run.counting import Counted
from tests.run.planned import eager, plain, same
from wengert.graph.order import below
from wengert.run.cell import MOST


class State(NamedTuple):
    h: Any  # Any: layers of every shape
    c: Any


def gates(x: Any, state: State, w: Any, b: Any) -> State:  # Any: layers and weights of every shape
    z = wg.concat([x, state.h], axis=-1) @ w + b
    i, f, o, u = (z[:, 4 * k : 4 * k + 4] for k in range(4))
    c = wg.sigmoid(i) * wg.tanh(u) + wg.sigmoid(f) * state.c
    return State(wg.sigmoid(o) * wg.tanh(c), c)


def network(step: Any) -> tuple[list[Any], Any]:  # Any: weights; a loss of a number
    chance = np.random.default_rng(0)
    w = SETTINGS.array_weight(chance.standard_normal((7, 16)))
    b = SETTINGS.array_weight(np.zeros(16, F64))
    xs = chance.standard_normal((6, 5, 2, 3))

    def loss(k: int) -> Any:
        state = State(np.zeros((2, 4), F64), np.zeros((2, 4), F64))
        for x in xs[k]:
            state = step(x, state, w, b)
        return wg.mean(wg.square(state.h)) + wg.sum(state.c) * 0.1

    return [w, b], loss


@pytest.mark.parametrize("planned", [False, True])
def test_a_cell_trains_as_its_function(planned: bool) -> None:
    found = []
    for step in (gates, wg.cell(gates)):
        weights, loss = network(step)
        executor = eager()[0] if planned else plain()
        losses = [np.asarray(loss(k).train().run(executor)) for k in range(6)]
        found.append([*losses, *(w.data for w in weights)])
    same(found[0], found[1])


def test_a_call_is_one_node_and_its_results_are_parts_of_it() -> None:
    weights, loss = network(wg.cell(gates))
    names = [n.signature.operation.name for n in below(loss(0), {})[0]]
    assert names.count("gates") == 5
    assert names.count("part") == 10
    assert len(weights) == 2


def test_it_is_traced_once_for_operand_types() -> None:
    traced = []

    @wg.cell
    def half(x: Any, times: int = 1) -> Any:
        traced.append((x.shape, times))
        return x * 0.5 * times

    w = SETTINGS.array_weight(np.ones(3, F64))
    for _ in range(3):
        half(w)
        half(w * 2.0)
        half(np.ones(3, F64))
        half(np.ones(2, F64))
        half(w, times=2)
    assert traced == [((3,), 1), ((3,), 1), ((3,), 1), ((2,), 1), ((3,), 2)]


def test_what_it_reads_besides_is_trained() -> None:
    v, w = SETTINGS.double_weight(3.0), SETTINGS.double_weight(2.0)

    @wg.cell
    def scaled(x: wg.DoubleExpression) -> wg.DoubleLayer:
        return w * x

    assert (scaled(v) * scaled(v)).train().run(plain()) == 36.0
    assert (v.data, w.data) == (3.0 - 0.1 * 24.0, 2.0 - 0.1 * 36.0)


@pytest.mark.parametrize("executor", [plain(), eager()[0]])
def test_each_node_inside_is_computed_once(executor: Any) -> None:
    counted = Counted()
    w = SETTINGS.array_weight(np.ones(3, F64))
    twice = wg.cell(lambda x: counted.apply(x) * 2.0)
    for i in range(1, 4):
        y = twice(w)
        wg.sum(y + y).train().run(executor)
        assert counted.calls == (i, i)


def test_cells_in_cells_and_results_that_are_arguments() -> None:
    inner = wg.cell(lambda a, b: (a * b, a))
    outer = wg.cell(lambda a, b: inner(inner(a, b)[0], b))
    x, y = SETTINGS.double_weight(2.0), SETTINGS.double_weight(3.0)
    product, same_again = outer(x, y)
    assert wg.predict((product, same_again)).run() == (18.0, 6.0)
    assert wg.gradients(product + same_again, (x, y)).run() == (9.0 + 3.0, 12.0 + 2.0)


def test_a_layer_of_nn_is_an_argument_with_its_weights() -> None:
    from wengert import nn

    linear = nn.Linear.make(SETTINGS, 3, 2, seed=0, dtype=F64)
    apply = wg.cell(lambda layer, x: wg.relu(layer(x)))
    x = np.ones((4, 3), F64)
    same([apply(linear, x).predict().run()], [wg.relu(linear(x)).predict().run()])


def test_within_a_bind() -> None:
    twice = wg.cell(lambda x: x * 2.0)
    w = SETTINGS.double_weight(3.0)

    @wg.differentiable
    async def chosen(x: wg.DoubleLayer) -> wg.DoubleLayer:
        return twice(x) if await twice(x) > 0 else x

    assert (chosen(twice(w)) * 1.0).train().run() == 12.0
    assert w.data == pytest.approx(3.0 - 0.4)


def test_a_cell_dies_with_its_last_user() -> None:  # S13
    gc.collect()
    gc.disable()
    try:
        kept: list[weakref.ref[Any]] = []
        for executor in (wg.run.Sequential(), wg.run.Batched()):
            weight = SETTINGS.array_weight(np.ones(3, F64))
            both = wg.cell(partial(lambda w, x: (x * w, x), weight))
            for x in (np.ones(3, F64), open_shape(np.ones(3, F64))):
                several = [both(x) for _ in range(3)]
                wg.sum(several[0][0] + several[1][1]).train().run(executor)
            kept += [weakref.ref(both), weakref.ref(both._templates.operation), weakref.ref(weight)]  # type: ignore[attr-defined] # the inside is asked on purpose
            del both, several, x, weight
        assert [ref() for ref in kept] == [None] * 6
    finally:
        gc.enable()


@pytest.mark.slow
def test_templates_for_ever_new_numbers_are_not_all_kept() -> None:  # S13
    @wg.cell
    def cell_times(x: wg.DoubleExpression, n: float) -> wg.DoubleLayer:
        return wg.multiply(x, n)

    times: Any = cell_times  # Any: the inside is asked, too
    found = [times(wg.lift(2.0), float(n)) for n in range(MOST + 10)]
    assert found[-1].predict().run() == 2.0 * (MOST + 9)
    assert len(times._templates._made) <= MOST


def test_it_can_be_sent_elsewhere() -> None:
    w = SETTINGS.double_weight(2.0)
    twice = wg.cell(lambda x: x * w)
    again = cloudpickle.loads(cloudpickle.dumps(twice(wg.lift(3.0)).predict()))
    assert again.run() == 6.0
