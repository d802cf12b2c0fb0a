"""`gradients(loss, wrt)` by literals and layers, and by structures of expressions, under every executor."""

from __future__ import annotations

import tracemalloc
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import pytest
from numpy.testing import assert_allclose

import wengert as wg
from tests.run.test_assignment import RUNS, each
from wengert import nn
from wengert.graph.node import next_serial
from wengert.graph.order import below
from wengert.plugins import SGD

SETTINGS = SGD(learning_rate=0.1)
X = np.random.default_rng(0).normal(size=(4, 3))
V = np.random.default_rng(1).normal(size=(3, 3))
Expr = Any  # of expressions and data of every type


@wg.cell
def halves(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    return wg.tanh(a @ b), wg.sin(a)


@wg.cell
def nested(a: Expr, b: Expr) -> Expr:
    left, right = halves(a, b)
    return wg.sum(left * wg.cos(right @ b))


def plain(a: Expr, b: Expr) -> Expr:
    return wg.sum(wg.tanh(a @ b) * wg.cos(wg.sin(a) @ b))


@wg.differentiable
async def dynamic(a: wg.ArrayLayer[Any, np.float64]) -> wg.ArrayLayer[tuple[()], np.float64]:
    """What it does with `a` is known in the run only."""
    total = await wg.sum(a)
    return wg.sum(wg.square(a)) if total > -1e6 else wg.sum(a)


LOSSES: dict[str, Callable[[Expr, Expr], Expr]] = {
    "operations": plain,
    "cells": nested,
    "a bind": lambda a, b: dynamic(wg.sin(a)) + plain(a, b),
    "indices and masks": lambda a, b: wg.sum(wg.where(wg.greater(a, 0.0), a @ b, wg.take(a, [0, 0, 1, 2]))),
    "parts": lambda a, b: wg.sum(wg.concat(wg.split(a @ b, 3, axis=1)[::-1], axis=1) * wg.stop_gradient(a)),
}


@each
@pytest.mark.parametrize("name", LOSSES)
def test_by_a_literal_as_by_a_weight_of_its_value(executor: Any, name: str) -> None:
    """Any: an executor."""
    x, w = wg.literal(X, 4, 3), SETTINGS.array_weight(X, 4, 3)
    v = SETTINGS.array_weight(V)
    by_weights = wg.gradients(LOSSES[name](w, v), (w, v)).run(wg.run.Sequential(compiled=False))
    for _ in range(RUNS):
        for found, wanted in zip(
            wg.gradients(LOSSES[name](x, v), (x, v)).run(executor), by_weights, strict=True
        ):
            assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    assert_allclose(wg.gradients(LOSSES[name](x, V), x).run(executor), by_weights[0], rtol=1e-12)


@each
def test_a_literal_that_a_dynamic_function_closes_over(executor: Any) -> None:
    """Any: an executor."""
    x = wg.lift(3.0)

    @wg.differentiable
    async def cubed(y: wg.DoubleLayer) -> wg.DoubleLayer:
        return y * x * x if await x > 0.0 else y

    for _ in range(RUNS):
        assert wg.gradients(cubed(x * 1.0), x).run(executor) == 27.0


@each
def test_by_layers_of_which_some_have_no_weight_below(executor: Any) -> None:
    """Any: an executor."""
    x, w = wg.lift(3.0), SETTINGS.double_weight(2.0)
    h = x * x
    y = h * w
    for _ in range(RUNS):
        assert wg.gradients(y * h, {"y": y, "h": h, "x": x, "w": w}).run(executor) == {
            "y": 9.0,
            "h": 36.0,
            "x": 216.0,
            "w": 81.0,
        }
    assert wg.gradients(w * wg.stop_gradient(w), wg.stop_gradient(w)).run(executor) == 0.0
    frozen = wg.stop_gradient(w)
    assert wg.gradients(w * frozen, (w, frozen)).run(executor) == (2.0, 2.0)


def test_derivatives_of_derivatives_by_a_literal() -> None:
    x = wg.lift(0.5)
    y: wg.DoubleLayer = wg.sin(x)
    for wanted in (np.cos(0.5), -np.sin(0.5), -np.cos(0.5), np.sin(0.5)):
        y = wg.gradients(y, x).layers
        assert y.predict().run() == pytest.approx(wanted, rel=1e-12)


def test_a_literal_is_one_variable_so_that_later_derivatives_make_nothing_again() -> None:
    x = wg.lift(0.5)
    slope = wg.gradients(wg.sin(x) * x, x).layers
    before = len(below(slope, frozenset())[0])
    start = next_serial()
    wg.gradients(slope, x)
    assert next_serial() - start == 1, "no node is made where the variable stands already"
    assert before < 12


def test_a_question_by_weights_makes_no_node() -> None:
    w = SETTINGS.double_weight(2.0)
    loss = wg.sin(w) * w
    start = next_serial()
    wg.gradients(loss, (w,))
    assert next_serial() - start == 1


def test_what_a_loss_does_not_depend_on_has_zeros() -> None:
    x, other = wg.literal(X), wg.literal(V)
    assert not wg.gradients(wg.sum(x), other).run().any()
    assert wg.gradients(wg.sum(x), other).layers.shape == (3, 3)


def test_at_other_data() -> None:
    x, w = wg.lift(3.0), SETTINGS.double_weight(2.0)
    assert wg.gradients(x * x * w, (x, w), at={w: 5.0}).run() == (30.0, 9.0)
    assert w.data == 2.0


# -- structures ---------------------------------------------------------------------------------------


class Pair(NamedTuple):
    a: Expr
    b: Expr


@dataclass(frozen=True)
class Model:
    body: nn.Linear[Any, Any, Any]
    parts: list[Any]
    by_name: dict[str, Any]
    rate: float = 0.5
    name: str = "model"
    none: Expr = None
    checked: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        assert isinstance(self.body, nn.Linear), "a constructor is not asked about derivatives"
        self.checked.append(1)

    def __call__(self, x: Expr) -> Expr:
        y = self.body(x)
        for part in self.parts:
            y = y * part
        return wg.sum(wg.tanh(y) * self.by_name["scale"])


class Plain:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.me = self


def model_of(bias: bool = True) -> Model:
    body = nn.Linear.make(SETTINGS, 3, 2, seed=0, dtype=np.float64, bias=bias)
    scale = SETTINGS.array_weight(np.array([0.5, 1.5], np.float64))
    return Model(body, [SETTINGS.double_weight(2.0), 7], {"scale": scale, "text": "x"})


@each
@pytest.mark.parametrize("bias", [True, False])
def test_a_model_has_derivatives_in_its_own_structure(executor: Any, bias: bool) -> None:
    """Any: an executor."""
    model = model_of(bias)
    loss = model(X)
    flat = nn.weights(model)
    wanted = dict(zip(flat, wg.gradients(loss, list(flat.values())).run(), strict=True))
    for _ in range(RUNS):
        found: Any = wg.gradients(loss, model).run(executor)
        assert [type(found), type(found.body)] == [Model, nn.Linear]
        assert_allclose(found.body.weight, wanted["body.weight"], rtol=1e-12)
        assert (found.body.bias is None) is not bias
        assert found.parts == [pytest.approx(wanted["parts.0"]), 7]
        assert_allclose(found.by_name["scale"], wanted["by_name.scale"], rtol=1e-12)
        assert (found.rate, found.name, found.none, found.by_name["text"]) == (0.5, "model", None, "x")
    assert model.checked == [1]
    assert isinstance(model.parts[0], wg.DoubleWeight), "the model stays as it is"


def test_structures_of_every_kind() -> None:
    a, b = SETTINGS.double_weight(2.0), SETTINGS.double_weight(3.0)
    loss = a * a * b
    pair: Any = wg.gradients(loss, Pair(a, (b, None))).run()
    assert pair == Pair(12.0, (4.0, None))
    assert type(pair) is Pair
    mixed: list[Expr] = [a, {"b": [b]}]
    assert wg.gradients(loss, mixed).run() == [12.0, {"b": [4.0]}]
    ordered = wg.gradients(loss, OrderedDict(b=b, a=a)).run()
    assert list(ordered.items()) == [("b", 4.0), ("a", 12.0)]
    assert wg.gradients(loss, {a: a, b: b}).run() == {a: 12.0, b: 4.0}
    nothing: tuple[Expr, ...] = ((), [], {})
    assert [wg.gradients(loss, x).run() for x in nothing] == [*nothing]


@dataclass(frozen=True, slots=True)
class Slotted:
    w: Expr
    rate: float = 0.5


def test_a_dataclass_with_slots() -> None:
    w = SETTINGS.double_weight(3.0)
    model = Slotted(w)
    found: Expr = wg.gradients(w * w, model).run()
    assert found == Slotted(6.0)
    assert [*nn.weights(model)] == ["w"]
    assert nn.map_weights(model, lambda x: x * 2.0).w.predict().run() == 6.0


def test_an_object_that_holds_itself() -> None:
    model = Plain(model_of())
    found: Any = wg.gradients(model.model(X), model).run()  # type: ignore[call-overload] # no dataclass, and no call
    assert found.me is model
    assert found.model.body.weight.shape == (3, 2)


def test_an_expression_in_the_place_of_a_weight() -> None:
    """As `nn.replace` and `nn.freeze` put it there: the derivative is by what stands there."""
    model = nn.freeze(model_of(), "body")
    low = SETTINGS.array_weight(np.zeros((3, 1)))
    high = SETTINGS.array_weight(np.ones((1, 2)))
    model = nn.replace(model, "body.weight", low @ high + model.body.weight)
    found: Any = wg.gradients(model(X), model).run()
    (delta,) = wg.gradients(model(X), (low,)).run()
    assert_allclose(found.body.weight @ np.ones((2, 1)), delta, rtol=1e-12)
    assert found.body.bias.shape == (2,)


def test_layers_are_a_model_of_layers() -> None:
    model = model_of()
    loss = model(X)
    slopes = wg.gradients(loss, model).layers
    assert type(slopes) is Model
    penalty = wg.sum(slopes.body.weight * slopes.body.weight)
    found: Any = wg.gradients(loss, model).run()
    assert penalty.predict().run() == pytest.approx(float(np.sum(found.body.weight**2)), rel=1e-12)
    fast = nn.map_weights(model, lambda w: w * 0.9)  # a step of MAML, say
    assert wg.gradients(fast(X), nn.weights(model)).run().keys() == nn.weights(model).keys()


def test_arrays_of_an_answer_are_not_shared() -> None:
    w = SETTINGS.array_weight(V)
    first, second = wg.gradients(wg.sum(w), (w, {"again": w})).run()
    first += 1.0
    assert (second["again"] == 1.0).all()


def test_beside_other_questions() -> None:
    model = model_of()
    loss = model(X)
    value, found = wg.gather(loss.train(), wg.gradients(loss, model.by_name)).run()
    assert found.keys() == {"scale", "text"}
    assert value == pytest.approx(model_of()(X).predict().run())


def test_a_question_crosses_a_process_boundary() -> None:
    x = wg.lift(3.0)
    wrt: Expr = {"x": x, "rest": [1]}  # what has no derivative stays
    question = wg.gradients(x * x, wrt)
    sent = cloudpickle.loads(cloudpickle.dumps(question))
    assert sent.run() == {"x": 6.0, "rest": [1]}
    assert sent.layers["x"].predict().run() == 6.0


def test_accumulation_takes_the_memory_of_one_micro_batch() -> None:
    """A hundred of them, added up in a dictionary by weight and applied once."""
    w = SETTINGS.array_weight(np.zeros((64, 64)))
    rows = np.random.default_rng(0).normal(size=(128, 64))

    def peak(count: int) -> int:
        tracemalloc.start()
        try:
            total = np.zeros((64, 64))
            for _ in range(count):
                total += wg.gradients(wg.mean(wg.square(wg.tanh(rows @ w))), w).run(executor)
            wg.apply({w: total / count}).run()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    executor = wg.run.Sequential(compiled=False)
    peak(1)
    one, hundred = peak(1), peak(100)
    assert hundred < one + rows.nbytes, (one, hundred)
