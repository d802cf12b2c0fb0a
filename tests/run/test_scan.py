"""`scan` against the loop that it stands for: values, derivatives, second ones, under every executor; its refusals."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert.control import Executor
from wengert.errors import ArgumentError, ShapeError
from wengert.nn import GRU, LSTM, GRUCell, LSTMCell
from wengert.plugins import SGD

Value = Any  # an array or a layer
EXECUTORS: dict[str, Callable[[], Executor]] = {
    "sequential": wg.run.Sequential,
    "interpreter": partial(wg.run.Sequential, compiled=False),
    "batched": wg.run.Batched,
    "parallel": partial(wg.run.Parallel, threads=2),
}


def _arrays(*shapes: tuple[int, ...]) -> list[Value]:
    chance = np.random.default_rng(0)
    return [chance.standard_normal(shape) for shape in shapes]


class Made(NamedTuple):
    """Weights, and one loss by a scan and by the loop."""

    weights: tuple[Value, ...]
    scanned: Callable[[], Value]
    looped: Callable[[], Value]


def _recurrent(steps: int, traced: bool) -> Made:
    settings = SGD(learning_rate=0.1)
    u, h0, xs = map(settings.array_weight, _arrays((3, 3), (2, 3), (steps, 2, 3)))

    def step(h: Value, x: Value) -> tuple[Value, Value]:
        h = wg.tanh(h @ u + x)
        return h, h * x

    cell = wg.cell(step) if traced else step

    def loss(h: Value, y: Value) -> Value:
        return wg.sum(wg.square(h)) + wg.sum(wg.sin(y))

    def scanned() -> Value:
        return loss(*wg.scan(cell, wg.lift(h0), xs * 1.5))

    def looped() -> Value:
        h, seen, inputs = wg.lift(h0), [], xs * 1.5
        for i in range(steps):
            h, y = step(h, inputs[i])
            seen.append(y)
        return loss(h, wg.stack(seen))

    return Made((u, h0, xs), scanned, looped)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("steps", [1, 2, 5, 17])
def test_values_and_derivatives_are_those_of_the_loop(steps: int, traced: bool, executor: str) -> None:
    weights, scanned, looped = _recurrent(steps, traced)
    right: Value = looped().predict().run(), *wg.gradients(looped(), weights).run()
    runs = EXECUTORS[executor]()
    for _ in range(10):  # by then there is a plan
        found: Value = scanned().predict().run(runs), *wg.gradients(scanned(), weights).run(runs)
        for mine, theirs in zip(found, right, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def test_second_derivatives_are_those_of_the_loop() -> None:
    (u, *_), scanned, looped = _recurrent(5, True)
    (direction,) = _arrays((3, 3))
    mine, theirs = (wg.hessian_product(loss(), {u: direction}).run()[u] for loss in (scanned, looped))
    np.testing.assert_allclose(mine, theirs, rtol=1e-10)
    mine, theirs = (wg.jvp(loss(), {u: direction}).run() for loss in (scanned, looped))
    np.testing.assert_allclose(mine, theirs, rtol=1e-10)


def test_training_by_a_plan_has_the_bits_of_the_interpreter() -> None:
    found = []
    for make in (wg.run.Sequential, partial(wg.run.Sequential, compiled=False)):
        (u, *_), scanned, _ = _recurrent(9, True)
        executor = make()
        found.append(([float(scanned().train().run(executor)) for _ in range(14)], u.data.tobytes()))
    assert found[0] == found[1]


class Both(NamedTuple):
    a: Value
    b: Value


@dataclass(frozen=True, eq=False)
class Scaled:
    """A cell whose weight is a field."""

    scale: Value

    def __call__(self, state: Both, x: tuple[Value, Value]) -> tuple[Both, tuple[Value, Value]]:
        left, right = x
        return Both(state.a + self.scale * left, state.b * right), (state.a, state.b + left)


def test_states_inputs_and_outputs_are_structures_and_a_cell_may_be_a_dataclass_of_weights() -> None:
    settings = SGD(learning_rate=0.1)
    a, b, left, right = _arrays((2,), (2,), (4, 2), (4, 2))
    for start in (1.0, 3.0):  # the second has other weights and the same template
        cell = Scaled(settings.array_weight(np.array([start, start], np.float64)))
        last, (first, second) = wg.scan(cell, Both(wg.lift(a), wg.lift(b)), (left, right))
        assert isinstance(last, Both)
        np.testing.assert_allclose(last.a.predict().run(), a + start * left.sum(0))
        np.testing.assert_allclose(last.b.predict().run(), b * right.prod(0))
        np.testing.assert_allclose(first.predict().run()[1], a + start * left[0])
        assert second.shape == (4, 2)
        np.testing.assert_allclose(wg.gradients(wg.sum(last.a), cell.scale).run(), left.sum(0))


def test_a_cell_without_output_gives_the_empty_tuple() -> None:
    def step(s: wg.ArrayLayer[Any, np.float64], x: wg.ArrayLayer[Any, np.float64]) -> tuple[Any, tuple[()]]:
        return s + x, ()

    last, nothing = wg.scan(step, wg.lift(np.zeros(2)), np.ones((3, 2)))
    assert nothing == ()
    assert last.predict().run().tolist() == [3.0, 3.0]


def test_a_call_is_one_node_and_its_cell_is_traced_once() -> None:
    traces = []

    @wg.cell
    def step(s: wg.ArrayLayer[Any, np.float64], x: wg.ArrayLayer[Any, np.float64]) -> Any:
        traces.append(1)
        return s + x, s

    made = [
        wg.scan(step, wg.lift(np.zeros(2)), np.array([[float(k)] * 2] * 6, np.float64))[0] for k in range(3)
    ]
    assert len(traces) == 1
    calls = {x.operands[0] for x in made}
    assert len(calls) == 3


def test_a_cell_that_nobody_has_any_more_is_let_go() -> None:
    @wg.cell
    def step(s: Value, x: Value) -> tuple[Value, Value]:
        return s + x, s

    wg.scan(step, wg.lift(np.zeros(2)), np.ones((3, 2)))
    seen = weakref.ref(step)
    del step
    gc.collect()
    assert seen() is None


def _scan(cell: Any, init: Any = None, xs: Any = None) -> Any:
    zeros: Any = wg.lift(np.zeros(2))
    return wg.scan(cell, zeros if init is None else init, np.ones((3, 2)) if xs is None else xs)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"given a state of .*2.* and gave one of .*4.*keeps its shape"):
        _scan(lambda s, x: (wg.concat([s, s]), x))
    with pytest.raises(ArgumentError, match="gave one of 2"):
        _scan(lambda s, x: ((s, s), x))
    with pytest.raises(ArgumentError, match=r"a tuple of two.*return state, \(\)"):
        _scan(lambda s, x: s + x)
    with pytest.raises(ShapeError, match="one length, got first axes 3, 2"):
        _scan(lambda s, x: (s, x), xs=(np.ones((3, 2)), np.ones((2, 2))))
    with pytest.raises(ShapeError, match=r"at least one step, got \(0, 2\)"):
        _scan(lambda s, x: (s, x), xs=np.ones((0, 2)))
    with pytest.raises(ArgumentError, match="several in a tuple, to go along; got none"):
        _scan(lambda s, x: (s, x), xs=())
    with pytest.raises(ArgumentError, match="expected a cell, a function of a state and an input, got"):
        _scan(3.0)


@pytest.mark.parametrize("given", [True, False])
def test_layers_of_all_steps_are_loops_over_their_cells(given: bool) -> None:
    settings = SGD(learning_rate=0.1)
    x, h, c = _arrays((6, 2, 3), (2, 4), (2, 4))
    memory = LSTMCell.make(settings, 3, 4, seed=0, dtype=np.float64)
    gated = GRUCell.make(settings, 3, 4, seed=0, dtype=np.float64)
    y, (last, kept) = LSTM(memory)(x, (h, c) if given else None)
    z, end = GRU(gated)(x, h if given else None)
    state: Value = (h, c) if given else None
    other: Value = h if given else None
    seen, seen_too = [], []
    for each in x:
        state, other = memory(each, state), gated(each, other)
        seen.append(state[0])
        seen_too.append(other)
    lstm, gru = (memory.hidden, memory.inputs), (gated.hidden, gated.bias)
    for mine, theirs, weights in (
        (y, wg.stack(seen), lstm),
        (last, state[0], lstm),
        (kept, state[1], lstm),
        (z, wg.stack(seen_too), gru),
        (end, other, gru),
    ):
        np.testing.assert_allclose(mine.predict().run(), theirs.predict().run(), rtol=1e-12, atol=1e-14)
        found, right = (wg.gradients(wg.sum(wg.square(of)), weights).run() for of in (mine, theirs))
        for a, b in zip(found, right, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_layers_of_all_steps_refuse_other_shapes() -> None:
    layer = LSTM(LSTMCell.make(SGD(learning_rate=0.1), 3, 4, seed=0))
    ones = np.ones((5, 2, 3), np.float32)
    with pytest.raises(ShapeError, match=r"LSTM: expected last axis 3, got \(5, 2, 4\)"):
        layer(np.ones((5, 2, 4), np.float32))  # type: ignore[shape]  # refused, as it is below
    with pytest.raises(ShapeError, match=r"LSTM: expected \(time, ..., 3\), got \(3,\)"):
        layer(np.ones(3, np.float32))  # type: ignore[shape]  # refused
    with pytest.raises(ShapeError, match=r"LSTM: expected a state c of shape \(2, 4\), got \(4,\)"):
        layer(ones, (np.ones((2, 4), np.float32), np.ones(4, np.float32)))  # type: ignore[shape]  # refused
