"""Layers that build their nodes again from what they learnt in the first call: nothing else differs."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from inspect import currentframe
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import extend, nn
from wengert.errors import ShapeError
from wengert.graph.node import Expression, Node
from wengert.graph.order import below
from wengert.nn import steady
from wengert.plugins import SGD

SETTINGS = SGD(learning_rate=0.1)
CHANCE = np.random.default_rng(0)
X = CHANCE.normal(size=(5, 3)).astype(np.float32)


def _squared(x: Any) -> Any:
    return x * x


LAYERS: dict[str, Callable[[], Any]] = {
    "Linear": lambda: nn.Linear.make(SETTINGS, 3, 4, seed=1),
    "Linear without a bias": lambda: nn.Linear.make(SETTINGS, 3, 4, seed=1, bias=False),
    "Sequential": lambda: nn.Sequential(nn.Linear.make(SETTINGS, 3, 4, seed=1), wg.relu, wg.softmax),
    "Sequential of a function": lambda: nn.Sequential(nn.Linear.make(SETTINGS, 3, 4, seed=1), _squared),
    "Sequential of one": lambda: nn.Sequential(nn.Sequential(wg.tanh), wg.exp),
    "Sequential of a product": lambda: nn.Sequential(nn.Residual(wg.tanh), wg.exp),
    "MLP": lambda: nn.MLP.make(SETTINGS, 3, 4, 2, seed=1, dropout=0.5),
}
OPERANDS: dict[str, Callable[[], Any]] = {
    "an array": lambda: X,
    "one of more axes": lambda: np.stack([X, -X]),
    "a layer": lambda: wg.lift(X),
    "a weight": lambda: SETTINGS.array_weight(X),
}


def text(made: Any) -> list[str]:
    """Every node below, by operation, kind and operands: a weight by its identity, a literal by its elements."""
    order = below(made, ())[0]
    place = {id(node): f"node {i}" for i, node in enumerate(order)}

    def named(x: Any) -> str:
        known = str(id(x)) if isinstance(x, Expression) else f"{np.asarray(x).tolist()}"
        return place.get(id(x), known)

    return [f"{node.signature!r} {type(node)} {node.kind!r} {[*map(named, node.operands)]}" for node in order]


@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("layer", LAYERS)
def test_later_calls_build_what_the_first_one_built(layer: str, operand: str) -> None:
    net, x = LAYERS[layer](), OPERANDS[operand]()
    first, *others = [net(x) for _ in range(3)]
    for made in others:
        assert made is not first and made.serial > first.serial
        assert text(made) == text(first)
        np.testing.assert_array_equal(made.predict().run(), first.predict().run())


def test_what_is_learnt_of_one_layer_is_of_no_other() -> None:
    one, other = (nn.Linear.make(SETTINGS, 3, 4, seed=i) for i in range(2))
    for _ in range(2):
        assert one(X).operands[0].operands[1] is one.weight
        assert other(X).operands[0].operands[1] is other.weight


def test_nodes_know_the_line_of_each_call() -> None:
    net = LAYERS["Sequential"]()
    here = currentframe()
    assert here is not None
    for _ in range(3):
        node, line = net(X), here.f_lineno
        while isinstance(node, Node):
            assert node.site == f"{__file__}:{line}"
            node = node.operands[0]
    assert [x.site for x in (net(X), net(X))] == [f"{__file__}:{here.f_lineno}"] * 2
    again = net(X).site
    assert again == f"{__file__}:{here.f_lineno - 1}"


def test_an_array_is_copied_in_each_call() -> None:
    net, x = LAYERS["Linear"](), X.copy()
    net(x)
    made = net(x)
    before = made.predict().run()
    x[:] = 7.0
    np.testing.assert_array_equal(made.predict().run(), before)
    np.testing.assert_array_equal(net(x).predict().run(), net(np.full_like(X, 7.0)).predict().run())


def test_what_does_not_fit_is_refused_after_what_fits() -> None:
    net = LAYERS["Sequential"]()
    net(X), net(X)
    for _ in range(2):
        with pytest.raises(
            ShapeError, match=r"Linear: expected last axis 3, got \(5, 2\)\n  at .*test_steady"
        ):
            net(X[:, :2])
    assert net(X).shape == (5, 4)


def test_somebody_elses_function_is_called_each_time() -> None:
    calls: list[int] = []

    def noted(x: Any) -> Any:
        calls.append(len(calls))
        return x * float(len(calls))

    net = nn.Sequential(wg.tanh, noted)
    results = [float(net(X).predict().run()[0, 0]) for _ in range(3)]
    assert calls == [0, 1, 2] and len({*results}) == 3


def test_a_cell_is_called_each_time() -> None:
    factor = [1.0]

    @wg.cell
    def scaled(x: Any) -> Any:
        return x * factor[0]

    assert not nn.Sequential(scaled, wg.tanh).steady


def test_new_rules_are_met() -> None:
    def rules(factor: float) -> Any:
        return extend.operation(
            extend.kinds.elementwise, lambda case, x: factor * x, lambda case, g, y, x: factor * g
        )

    scaled = rules(2.0)(_squared)
    net = nn.Sequential(scaled, wg.exp)
    assert net.steady
    before = [float(net(X).predict().run()[0, 0]) for _ in range(2)]
    again = rules(3.0)(_squared)
    scaled.operation.define(again.operation.rules)
    after = [float(net(X).predict().run()[0, 0]) for _ in range(3)]
    first = float(X[0, 0])
    np.testing.assert_allclose(before, np.exp(2.0 * first), rtol=1e-6)
    np.testing.assert_allclose(after, np.exp(3.0 * first), rtol=1e-6)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_has_learnt_nothing(copied: Callable[[Any], Any]) -> None:
    net = LAYERS["Linear"]()
    net(X)
    assert net._chains and not hasattr(copied(net), "_chains")
    assert "_chains" not in vars(net)


def test_another_weight_is_read_where_it_was_replaced() -> None:
    net = LAYERS["Linear"]()
    net(X), net(X)
    other = nn.map_weights(net, lambda w: SETTINGS.array_weight(w.data * 2.0))
    np.testing.assert_array_equal(other(X).predict().run(), 2.0 * net(X).predict().run())


def test_the_kinds_of_one_layer_cannot_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steady, "_MOST_KINDS", 3)
    net = LAYERS["Sequential"]()
    for size in range(1, 9):
        assert net(np.ones((size, 3), np.float32)).shape == (size, 4)
        assert len(net._chains) <= 3


def test_a_seed_is_passed_on_also_where_a_call_without_has_been_learnt() -> None:
    net = LAYERS["MLP"]()
    calm = [net(X).predict().run() for _ in range(2)]
    np.testing.assert_array_equal(*calm)
    drawn = [net(X, seed=i).predict().run() for i in range(2)]
    assert not np.array_equal(*drawn) and not np.array_equal(calm[0], drawn[0])
