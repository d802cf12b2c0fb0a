"""Derivatives as expressions: of any order, under every interpreter, of every column; what they cost."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from typing import Any, assert_type

import cloudpickle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import wengert as wg
from tests.often import examples, few
from tests.ops.subjects import DIFFERENTIABLE, SUBJECTS
from wengert import Do, extend
from wengert.graph.node import next_serial
from wengert.graph.order import below
from wengert.run import Batched, Parallel, Sequential

from .planned import eager, plain, same
from .slopes import SETTINGS, array, count, penalty, weight


def test_the_answer_is_a_do_and_has_the_same_as_layers() -> None:
    w, v = SETTINGS.double_weight(3.0), SETTINGS.double_weight(2.0)
    answer = wg.gradients(w * w * v, (w, v))
    assert isinstance(answer, Do)
    assert answer.map(sum).run() == 12.0 + 9.0
    dw, dv = answer.layers
    assert_type(dw, wg.DoubleLayer)
    assert type(dw) is type(dv) is wg.DoubleLayer
    assert wg.predict((dw, dv)).run() == answer.run()
    assert answer.layers[0] is dw, "built once"


def test_derivatives_of_every_order() -> None:
    w = SETTINGS.double_weight(2.0)
    y: wg.DoubleLayer = w**5.0
    for wanted in (80.0, 160.0, 240.0, 240.0, 120.0, 0.0):
        (y,) = wg.gradients(y, (w,)).layers
        assert y.predict().run() == wanted


def test_a_product_with_the_hessian() -> None:
    """Of sum(sin(A x)): -Aᵀ diag(sin(A x)) A v."""
    a, x, v = np.random.default_rng(1).normal(size=(4, 3)), weight(3), array(1.0, -2.0, 0.5)
    (first,) = wg.gradients(wg.sum(wg.sin(wg.literal(a) @ x)), (x,)).layers
    (found,) = wg.gradients(wg.sum(first * v), (x,)).run()
    assert_allclose(found, -a.T @ (np.sin(a @ x.data) * (a @ v)), rtol=1e-12)


def network(w: Any, b: Any, x: Any) -> Any:
    """Any: expressions."""
    return wg.sum(wg.square(wg.tanh(x @ w + b)) * wg.sigmoid(x @ w))


def test_a_gradient_penalty_agrees_under_every_interpreter() -> None:
    w, b, x = weight(4, 3), weight(3, seed=1), weight(5, 4, seed=2)
    loss = penalty(network(w, b, x), x, w)
    first = wg.gradients(network(w, b, x), (x,)).layers[0]
    wanted = [loss.predict().run(plain()), *wg.gradients(loss, (w, b, x)).run(plain())]
    early, plans = eager()
    for executor in (early, early, early, Sequential(), Parallel(threads=2)):
        same([loss.predict().run(executor), *wg.gradients(loss, (w, b, x)).run(executor)], wanted)
        same([first.predict().run(executor)], [first.predict().run(plain())])
    assert plans.made == 3


def test_derivatives_of_many_small_graphs_are_batched() -> None:
    """Each branch is a graph of its own, with derivatives inside."""
    w = weight(4, 4)

    def branch(count: int, seed: int) -> Any:  # Any: an expression
        leaves: list[Any] = [weight(4, seed=seed + i) for i in range(count)]
        y = leaves[0]
        for leaf in leaves[1:]:
            y = wg.tanh(y @ w * wg.sin(leaf))
        return penalty(wg.sum(wg.square(y)), leaves[0])

    loss = branch(3, 1) + branch(4, 10) + branch(5, 20)
    same(wg.gradients(loss, (w,)).run(Batched()), wg.gradients(loss, (w,)).run(plain()), 1e-12)
    same([loss.predict().run(Batched())], [loss.predict().run(plain())], 1e-12)


@pytest.mark.parametrize("compiled", [True, False])
def test_training_on_a_penalty(compiled: bool) -> None:
    executor = eager()[0] if compiled else plain()
    w, b, x = weight(4, 3), weight(3, seed=1), np.random.default_rng(2).normal(size=(5, 4))
    for _ in range(4):
        at = SETTINGS.array_weight(x)
        data = [w.data.copy(), b.data.copy()]
        loss = penalty(network(w, b, at), at)
        deltas = wg.gradients(loss, (w, b)).run(plain())
        loss.train().run(executor)
        same([w.data, b.data], [d - 0.1 * np.asarray(g) for d, g in zip(data, deltas, strict=True)], 1e-12)


def test_a_derivative_by_a_layer_is_differentiated_by_what_is_below_it() -> None:
    data = np.array([0.4, -0.7], np.float64)

    def inner(x: Any) -> Any:  # Any: a literal or a weight
        a, b = x[0], x[1]
        (g,) = wg.gradients(wg.exp(b) * wg.tanh(a), (b,)).layers
        return g

    slope = np.exp(data[1]) / np.cosh(data[0]) ** 2, np.exp(data[1]) * np.tanh(data[0])
    for x in (wg.literal(data), SETTINGS.array_weight(data)):
        for executor in (plain(), Sequential(), Parallel(2), Batched()):
            (found,) = wg.gradients(inner(x), (x,)).run(executor)
            assert_allclose(found, slope, rtol=1e-12)


def test_what_a_derivative_gives_is_the_callers_own() -> None:
    """Also where it is a constant, which a plan keeps."""
    w = weight(3)
    executor, _ = eager()
    for _ in range(4):
        (dw,) = wg.gradients(wg.sum(w * 3.0), (w,)).layers
        value = dw.predict().run(executor)
        assert value.tolist() == [3.0, 3.0, 3.0]
        value += 1.0


# -- columns ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scalars_beside_arrays_keep_their_column(dtype: Any) -> None:
    """Any: an element type, and a weight of either column."""
    s: Any = SETTINGS.float_weight(2.0) if dtype is np.float32 else SETTINGS.double_weight(2.0)
    ones: Any = np.ones(3, dtype)
    a = SETTINGS.array_weight(ones)
    ds, da = wg.gradients(wg.sum(a * a * s * s), [s, a]).layers
    assert ds.kind.column is s.kind.column
    assert (da.shape, da.dtype) == ((3,), dtype)
    assert ds.predict().run() == 12.0
    again = wg.gradients(ds * ds + wg.sum(da), [s, a]).run()
    assert type(again[0]) is type(s.data)
    assert again[0] == 2 * 12.0 * 6.0 + 2.0 * 2.0 * 2.0 * 3.0
    assert_allclose(again[1], np.full(3, 2 * 12.0 * 8.0 + 8.0))
    assert again[1].dtype == dtype


def test_the_same_mask_is_dropped_in_every_order() -> None:
    x = weight(50)
    squared: wg.ArrayLayer[Any, np.float64] = wg.square(x)
    dropped: wg.ArrayLayer[Any, np.float64] = wg.dropout(squared, 0.5, seed=(1, 2))
    (first,) = wg.gradients(wg.sum(dropped * x), (x,)).layers
    kept = wg.dropout(np.ones(50), 0.5, seed=(1, 2)).predict().run()
    assert_allclose(first.predict().run(), 3.0 * x.data**2 * kept, rtol=1e-12)
    (second,) = wg.gradients(wg.sum(first), (x,)).run()
    assert_allclose(second, 6.0 * x.data * kept, rtol=1e-12)


def test_what_is_beyond_stop_gradient_is_a_constant() -> None:
    w = SETTINGS.double_weight(3.0)
    (dw,) = wg.gradients(w * wg.stop_gradient(w * w), (w,)).layers
    assert dw.predict().run() == 9.0
    assert wg.gradients(dw * dw, (w,)).run() == (0.0,)
    assert not dw.kind.trainable


def test_what_a_loss_does_not_depend_on_has_zeros() -> None:
    w, a, f = SETTINGS.double_weight(3.0), weight(2, 3), SETTINGS.float_weight(1.0)
    zeros = wg.gradients(w * w, (a, f, w)).layers
    assert [np.shape(x.predict().run()) for x in zeros] == [(2, 3), (), ()]
    assert not zeros[0].predict().run().any()
    assert type(zeros[1].predict().run()) is np.float32
    assert wg.gradients(wg.lift(2.0), (w,)).layers[0].predict().run() == 0.0


# -- cost ---------------------------------------------------------------------------------------------


def test_building_computes_nothing() -> None:
    """S1: of 64 MB of data not one element is touched, and no rule for values is called."""
    called: list[Any] = []  # Any: operands

    @extend.elementwise(lambda c, g, y, x: g * y * x)
    def heard(c: Any, x: Any) -> Any:  # Any: data of any column
        called.append(x)
        return x

    w, b = SETTINGS.array_weight(np.ones((2000, 2000))), SETTINGS.array_weight(np.ones(2000))
    tracemalloc.start()
    try:
        (first,) = wg.gradients(wg.mean(wg.square(heard(w @ w + b))), (w,)).layers
        _ = wg.gradients(wg.sum(first * first), (b,)).layers
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
    assert not called


@pytest.mark.parametrize("order", few([1, 2], 1))
def test_the_cost_is_linear_in_diamonds(order: int) -> None:
    """S2: not a path, but a node each."""

    def nodes(depth: int) -> int:
        w = SETTINGS.double_weight(1.0)
        y: wg.DoubleLayer = w * 1.0
        for _ in range(depth):
            y = wg.sin((y + y) * 0.5)
        for _ in range(order):
            (y,) = wg.gradients(y * y, (w,)).layers
        return count(y)

    small, middle, large = (nodes(n) for n in (200, 600, 1000))
    assert large - middle == middle - small
    assert large < 1000 * 50


def test_deep_chains_need_no_stack() -> None:
    w = SETTINGS.double_weight(1.0)
    y: wg.DoubleLayer = w * 1.0
    for _ in range(5_000):
        y = y * 1.0
    (y,) = wg.gradients(y * y, (w,)).layers
    assert wg.gradients(y * y, (w,)).run() == (8.0,)


def test_nothing_is_built_for_what_is_not_asked_for() -> None:
    """S4: neither for other weights nor for what leads to none."""
    x, w = SETTINGS.double_weight(2.0), SETTINGS.double_weight(1.0)
    deep: wg.DoubleLayer = wg.sin(w)
    for _ in range(100):
        deep = wg.sin(deep)
    fixed: wg.DoubleLayer = wg.lift(1.0)
    for _ in range(100):
        fixed = wg.sin(fixed)
    loss = x * x + deep + fixed
    before = next_serial()
    (dx,) = wg.gradients(loss, (x,)).layers
    assert next_serial() - before < 20
    assert count(dx) < 10


def test_nodes_say_where_the_operation_was_written_whose_derivative_they_are() -> None:
    w = SETTINGS.double_weight(1.0)
    y = wg.sin(w)
    loss = wg.exp(y)
    (dw,) = wg.gradients(loss, (w,)).layers
    sites = {node.site for node in below(dw, frozenset())[0]}
    assert sites == {y.site, loss.site, dw_site(loss)}
    assert dw.site == y.site


def dw_site(loss: Any) -> str:  # Any: an expression
    """Where the delta of the loss itself was made: where layers were asked for."""
    file, line = str(loss.site).rsplit(":", 1)
    return f"{file}:{int(line) + 1}"


# -- processes ----------------------------------------------------------------------------------------


def test_both_cross_a_process_boundary() -> None:
    w = SETTINGS.double_weight(3.0)
    answer = wg.gradients(w * w * w, (w,))
    (dw,) = answer.layers
    sent = cloudpickle.loads(cloudpickle.dumps(answer))
    assert sent.run() == (27.0,)
    assert sent.layers[0].predict().run() == 27.0
    again = cloudpickle.loads(cloudpickle.dumps(wg.gradients(dw * dw, (w,))))
    assert again.run() == (2.0 * 27.0 * 18.0,)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@examples(3)
@given(data=st.data())
def test_derivatives_of_every_operation_cross_a_process_boundary(name: str, data: st.DataObject) -> None:
    example = data.draw(SUBJECTS[name].examples)
    weights: list[Any] = [SETTINGS.array_weight(x) for x in example.operands]
    for layer in wg.gradients(wg.sum(wg.sin(example.call(*weights))), weights).layers:
        same([cloudpickle.loads(cloudpickle.dumps(layer)).predict().run()], [layer.predict().run()])


# -- others' operations and types ---------------------------------------------------------------------


@pytest.mark.slow
def test_a_process_that_has_made_no_derivatives_runs_some() -> None:
    w = weight(2)
    (dw,) = wg.gradients(wg.sum(wg.exp(wg.take(w, [0, 0, 1], axis=0))), (w,)).layers
    code = "import sys, cloudpickle; print(cloudpickle.load(sys.stdin.buffer).run().tolist())"
    sent = cloudpickle.dumps(wg.predict(dw))
    done = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True)
    assert json.loads(done.stdout) == pytest.approx((np.exp(w.data) * [2.0, 1.0]).tolist())
