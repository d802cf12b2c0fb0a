"""A cell is one node a call, and does what its function does (interpreted, planned, in binds; S2, S7)."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from tests.run.counting import Boom, Counted
from tests.run.planned import eager, plain, same
from wengert.errors import ArgumentError, NotDifferentiableError, ShapeError
from wengert.graph.order import below
from wengert.plugins import SGD
from wengert.run.templates import MOST

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


@wg.differentiable
async def open_shape(x: wg.ArrayExpression[Any, np.float64]) -> wg.ArrayLayer[Any, np.float64]:
    """What only the run knows the shape of."""
    return wg.multiply(x, 1.0)


EXECUTORS: dict[str, Any] = {  # Any: executors of every kind
    "sequential": wg.run.Sequential,
    "parallel": partial(wg.run.Parallel, threads=2),
    "batched": wg.run.Batched,
}


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_cell_of_operands_whose_shape_only_the_run_tells(executor: str) -> None:
    def found(marked: Any, executor: Any) -> list[Any]:  # Any: a decorator; executors
        w = SETTINGS.array_weight(np.eye(3, dtype=F64) * 0.5 + 0.1)
        both = marked(lambda x, y: (wg.tanh(x @ w) + y, x * y))
        once = marked(lambda x: wg.tanh(x @ w))
        total: Any = 0.0  # Any: a number and then layers
        for i in range(5):
            a, b = both(open_shape(np.full(3, 0.4 * i, F64)), np.ones(3, F64))
            c, d = both(a, once(b))
            total = total + wg.sum(c * d)
        gradients = [np.asarray(g) for g in wg.gradients(total, (w,)).run(executor)]
        return [np.asarray(total.train().run(executor)), w.data, *gradients]

    for x, y in zip(found(wg.cell, EXECUTORS[executor]()), found(lambda f: f, plain()), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13)


def test_such_a_cell_stays_one_and_is_traced_once_for_what_the_run_tells() -> None:
    traced = []

    @wg.cell
    def twice(x: Any) -> tuple[Any, Any]:
        traced.append(x.kind.shape)
        return x * 2.0, x

    batched = wg.run.Batched()
    for _ in range(3):
        parts = [twice(open_shape(np.full(n, 1.0, F64))) for n in (3, 3, 2, 3, 2)]
        values = wg.predict(tuple(y for y, _ in parts)).run(batched)
    assert [v.tolist() for v in values] == [[2.0] * n for n in (3, 3, 2, 3, 2)]
    assert sorted(traced, key=str) == [(2,), (3,), None]
    lines = [line for line in batched.report.lines.values() if "twice" in line.name]
    assert sorted((line.launches, line.rows) for line in lines) == [(3, 6), (3, 9)]
    assert not batched.report.unbatched


def test_a_cell_of_an_open_operand_can_be_sent_elsewhere() -> None:
    w = SETTINGS.array_weight(np.full(3, 2.0, F64))
    scaled = wg.cell(lambda x: (x * w, x))
    again = cloudpickle.loads(cloudpickle.dumps(wg.sum(scaled(open_shape(np.ones(3, F64)))[0]).predict()))
    assert again.run() == 6.0


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_cell_that_does_more_for_a_known_shape_is_refused_where_it_was_called(executor: str) -> None:
    w = SETTINGS.array_weight(np.ones(3, F64))

    @wg.cell
    def sly(x: Any) -> Any:
        return x * 1.0 if x.kind.shape is None else x * w

    with pytest.raises(
        ArgumentError,
        match=r"(?s)sly: for these operands it gives 1 results of .* no weights; state the shapes.*test_cell\.py:",
    ):
        wg.sum(sly(open_shape(np.ones(3, F64)))).predict().run(EXECUTORS[executor]())


def test_a_shape_that_does_not_fit_in_the_run_is_an_error_of_the_line_inside() -> None:
    product = wg.cell(lambda x: x @ np.ones((2, 2), F64))
    with pytest.raises(ShapeError, match=r"(?s)inner dimensions 3 and 2 differ.*test_cell\.py:"):
        wg.sum(product(open_shape(np.ones(3, F64)))).predict().run(wg.run.Batched())


def test_derivatives_as_layers_stop_at_a_cell_of_an_open_operand() -> None:
    w = SETTINGS.array_weight(np.ones(3, F64))
    both = wg.cell(lambda x: (x * w, x))
    loss = wg.sum(both(open_shape(np.ones(3, F64)))[0])
    with pytest.raises(NotDifferentiableError, match="known only in the run"):
        _ = wg.gradients(loss, (w,)).layers


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


def test_what_is_not_annotated_is_told_where_it_is_used() -> None:
    @wg.differentiable
    async def unstated(x):  # type: ignore[no-untyped-def] # that is the test
        return x

    with pytest.raises(
        NotDifferentiableError, match=r"(?s)not stated.*async def as `-> ArrayLayer.*test_cell\.py:"
    ):
        wg.cell(lambda x: wg.tanh(x))(unstated(np.ones(3, F64)))


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

    async def later(x: wg.DoubleLayer) -> wg.DoubleLayer:
        return x

    with pytest.raises(ArgumentError, match=r"(?s)later is an async def.* write @differentiable"):
        wg.cell(later)


def test_a_failure_while_it_is_traced_names_the_call() -> None:
    wider = wg.cell(lambda x: x @ np.ones((2, 2), F64))
    with pytest.raises(ShapeError) as caught:
        wider(np.ones(3, F64))
    (note,) = caught.value.__notes__
    assert note.startswith(
        "while the cell test_a_failure_while_it_is_traced_names_the_call.<locals>.<lambda> was"
    )
    assert f"traced for ((3,) float64), called at {__file__}:" in note


def test_a_method_bound_early_has_its_own_name() -> None:
    def scaled(factor: float, x: wg.DoubleExpression) -> wg.DoubleLayer:
        return wg.multiply(x, factor)

    assert "scaled" in repr(wg.cell(partial(scaled, 2.0))(wg.lift(3.0)))


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


def test_a_method_is_a_cell_too() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = SETTINGS.double_weight(2.0)

        @wg.cell
        def apply(self, x: wg.DoubleExpression) -> wg.DoubleLayer:
            return self.w * x

    assert Model().apply(wg.lift(3.0)).predict().run() == 6.0


class Model:
    """With a cell as a method, as a person writes it."""

    traced: int = 0

    def __init__(self, factor: float = 2.0) -> None:
        self.w = SETTINGS.array_weight(np.full(3, factor, F64))

    @wg.cell
    def both(self, x: Any) -> tuple[Any, Any]:
        type(self).traced += 1
        return self.w * x, x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model)

    __hash__ = None  # type: ignore[assignment] # objects without a hash have methods, too


def test_a_method_is_a_cell_for_each_object() -> None:
    before, models = Model.traced, [Model(2.0), Model(3.0)]
    x = wg.lift(np.ones(3, F64))
    for _ in range(3):
        sums = [wg.sum(model.both(x)[0]).predict().run() for model in models]
    assert sums == [6.0, 9.0], "equal objects are not one"
    assert Model.traced == before + 2
    assert wg.sum(Model(4.0).both(x)[0]).predict().run() == 12.0, "nobody else holds the object"


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_method_of_an_object_that_is_gone_when_it_runs(executor: str) -> None:
    called = [Model(4.0).both(open_shape(np.ones(3, F64)))[0] for _ in range(3)]
    gc.collect()
    found = wg.sum(wg.stack(called)).predict().run(EXECUTORS[executor]())
    assert found == 3 * 12.0


def test_a_method_dies_with_its_object() -> None:  # S13
    gc.collect()
    gc.disable()
    try:
        kept: list[weakref.ref[Any]] = []
        for executor in (wg.run.Sequential(), wg.run.Batched()):
            model = Model()
            for x in (np.ones(3, F64), open_shape(np.ones(3, F64))):
                several = [model.both(x) for _ in range(3)]
                wg.sum(several[0][0] + several[1][1]).train().run(executor)
            kept += [weakref.ref(model), weakref.ref(model.w)]
            del model, several, x
        assert [ref() for ref in kept] == [None] * 4
    finally:
        gc.enable()


def test_methods_of_objects_that_cannot_be_watched_and_of_frozen_ones() -> None:
    class Slots:
        __slots__ = ("w",)

        def __init__(self) -> None:
            self.w = SETTINGS.double_weight(2.0)

        @wg.cell
        def scaled(self, x: wg.DoubleExpression) -> wg.DoubleLayer:
            return self.w * x

    @dataclass(frozen=True)
    class Frozen:
        w: wg.DoubleWeight

        @wg.cell
        def scaled(self, x: wg.DoubleExpression) -> wg.DoubleLayer:
            return self.w * x

    for model in (Slots(), Frozen(SETTINGS.double_weight(2.0))):
        assert [model.scaled(wg.lift(3.0)).predict().run() for _ in range(2)] == [6.0, 6.0]


def test_a_method_can_be_sent_elsewhere() -> None:
    class Sent:
        def __init__(self) -> None:
            self.w = SETTINGS.double_weight(2.0)

        @wg.cell
        def scaled(self, x: wg.DoubleExpression) -> wg.DoubleLayer:
            return self.w * x

    sent = Sent()
    assert sent.scaled(wg.lift(3.0)).predict().run() == 6.0
    again = cloudpickle.loads(cloudpickle.dumps(sent.scaled))
    assert again(wg.lift(4.0)).predict().run() == 8.0
