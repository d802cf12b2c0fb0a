"""A cell is one node a call, and does what its function does (interpreted, planned, in binds; S2, S7)."""

from __future__ import annotations

from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from tests.run.counting import Boom, Counted
from tests.run.planned import eager, plain, same
from wengert.errors import ArgumentError, ShapeError
from wengert.graph.order import below
from wengert.plugins import SGD

F64 = np.float64
SETTINGS = SGD(learning_rate=0.1)


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
    names = [n._signature.operation.name for n in below(loss(0), {})[0]]
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


def test_an_operand_whose_shape_only_the_run_tells_is_no_template() -> None:
    @wg.differentiable
    async def open_shape(x: wg.ArrayExpression[Any, np.float64]) -> wg.ArrayLayer[Any, np.float64]:
        return wg.multiply(x, 1.0)

    twice = wg.cell(lambda x: x * 2.0)
    assert twice(open_shape(np.ones(3, F64))).predict().run().tolist() == [2.0] * 3


def test_a_failure_names_the_line_inside_and_the_call() -> None:
    counted = Counted(forward_failure=Boom)
    failing = wg.cell(lambda x: counted.apply(x * 1.0))
    with pytest.raises(Boom) as failure:
        failing(SETTINGS.array_weight(np.ones(2, F64))).predict().run()
    notes = failure.value.__notes__
    assert [note.partition("(")[0] for note in notes] == [
        "in counted",
        "in test_a_failure_names_the_line_inside_and_the_call.<locals>.<lambda>",
    ]
    assert all(__file__ in note for note in notes)


def test_a_wrong_shape_is_an_error_of_the_call() -> None:
    product = wg.cell(lambda a, b: a @ b)
    with pytest.raises(ShapeError, match="inner dimensions 3 and 2 differ"):
        product(np.ones((2, 3), F64), np.ones((2, 3), F64))


def test_what_is_no_cell_is_refused() -> None:
    @wg.differentiable
    async def waits(x: wg.DoubleLayer) -> wg.DoubleLayer:
        return x

    with pytest.raises(ArgumentError, match="takes a function of expressions; got 3"):
        wg.cell(3)  # type: ignore[arg-type] # that is the test
    with pytest.raises(ArgumentError, match="a cell returns an expression or a tuple of them"):
        wg.cell(lambda x: "text")(wg.lift(2.0))
    with pytest.raises(ArgumentError, match="cannot wait for"):
        wg.cell(lambda x: waits(x))(wg.lift(2.0))
    with pytest.raises(ArgumentError, match="something hashable"):
        wg.cell(lambda x, more: x)(wg.lift(2.0), [1])


def test_it_can_be_sent_elsewhere() -> None:
    w = SETTINGS.double_weight(2.0)
    twice = wg.cell(lambda x: x * w)
    again = cloudpickle.loads(cloudpickle.dumps(twice(wg.lift(3.0)).predict()))
    assert again.run() == 6.0


def test_a_method_is_a_cell_too() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = SETTINGS.double_weight(2.0)

        @wg.cell
        def apply(self, x: wg.DoubleExpression) -> wg.DoubleLayer:
            return self.w * x

    assert Model().apply(wg.lift(3.0)).predict().run() == 6.0
