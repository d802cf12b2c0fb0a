"""`jvp`, `jacobian` and `hessian_product`: against differences and each other, under every executor."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import cloudpickle
import numpy as np
import pytest
from numpy.testing import assert_allclose

import wengert as wg
from tests.run.test_assignment import RUNS, each
from tests.run.test_by_anything import nested
from wengert.errors import ArgumentError, DTypeError, NotDifferentiableError, ShapeError
from wengert.graph.order import below
from wengert.plugins import SGD

SETTINGS = SGD(learning_rate=0.1)
RANDOM = np.random.default_rng(0)
X, W, D = RANDOM.normal(size=(2, 3)), RANDOM.normal(size=(3, 2)), 0.7
V: tuple[Any, ...] = (RANDOM.normal(size=(2, 3)), RANDOM.normal(size=(3, 2)), 0.3)
Map3 = Callable[[Any, Any, Any], Any]  # of expressions of every type

MAPS: dict[str, Map3] = {
    "layers": lambda x, w, d: wg.tanh(x @ w) * d + wg.sin(d),
    "few outputs": lambda x, w, d: wg.sum(wg.square(x @ w), axis=0) * wg.exp(d),
    "one output": lambda x, w, d: wg.sum(wg.cos(x @ w)) * d,
    "a number": lambda x, w, d: d * d * d,
    "a softmax": lambda x, w, d: wg.softmax(x @ w * d, axis=1),
    "indices": lambda x, w, d: wg.take(w, [0, 2, 2], axis=0) * wg.where(wg.greater(w, 0.0), w, d),
    "a cell": lambda x, w, d: wg.stack([nested(x @ w, w[:2] * d), wg.sum(x)]),
    "no outputs": lambda x, w, d: (x @ w)[0:0] * d,
    "another element type": lambda x, w, d: wg.astype(x @ w, np.float32),
}
all_maps = pytest.mark.parametrize("name", MAPS)


def operands() -> tuple[Any, Any, Any]:
    """Any: a literal, a weight, and a weight that is a number."""
    return wg.literal(X), SETTINGS.array_weight(W), SETTINGS.double_weight(D)


def moved(of: Map3, step: float) -> Any:  # Any: data
    """The value at a step along `V`."""
    at: list[Any] = [x + step * v for x, v in zip((X, W, D), V, strict=True)]
    return of(*map(wg.lift, at)).predict().run()


@all_maps
def test_a_jvp_is_a_difference_along_its_tangents(name: str) -> None:
    at = operands()
    y = MAPS[name](*at)
    value, tangent = wg.jvp(y, dict(zip(at, V, strict=True))).run()
    step, close = (1e-2, 1e-3) if y.dtype == np.float32 else (1e-5, 1e-8)
    assert_allclose(value, y.predict().run())
    assert_allclose(tangent, (moved(MAPS[name], step) - moved(MAPS[name], -step)) / (2 * step), atol=close)
    assert (np.shape(tangent), np.asarray(tangent).dtype) == (y.shape, y.dtype)


@all_maps
def test_a_jacobian_has_the_products_of_jvp_and_the_sums_of_gradients(name: str) -> None:
    at = operands()
    y = MAPS[name](*at)
    found = wg.jacobian(y, at).run()
    _, tangent = wg.jvp(y, dict(zip(at, V, strict=True))).run()
    total: Any = 0.0
    for w, v, matrix in zip(at, V, found, strict=True):
        assert (np.shape(matrix), np.asarray(matrix).dtype) == ((*y.shape, *w.shape), w.dtype)
        total = total + np.tensordot(matrix, v, np.ndim(v)) if np.ndim(v) else total + matrix * v
        whole = wg.gradients(wg.sum(y) if y.shape else y, w).run()
        assert_allclose(np.sum(matrix, axis=tuple(range(len(y.shape)))), whole, atol=1e-6)
    assert_allclose(total, tangent, atol=1e-6)


@pytest.mark.parametrize("name", ["layers", "few outputs", "one output", "a number", "a softmax", "a cell"])
def test_a_hessian_product_is_a_difference_of_gradients(name: str) -> None:
    def slopes(step: float) -> Any:
        at: list[Any] = [wg.lift(x + step * v) for x, v in zip((X, W, D), V, strict=True)]
        y = MAPS[name](*at)
        return wg.gradients(wg.sum(y * y) if y.shape else y * y, at).run()

    at = operands()
    y = MAPS[name](*at)
    found = wg.hessian_product(wg.sum(y * y) if y.shape else y * y, dict(zip(at, V, strict=True))).run()
    assert [*found] == [*at]
    for product, up, down in zip(found.values(), slopes(1e-5), slopes(-1e-5), strict=True):
        assert_allclose(product, (up - down) / 2e-5, rtol=1e-5, atol=1e-7)


@each
def test_every_executor_agrees(executor: Any) -> None:
    """Any: an executor."""
    at = operands()
    y = MAPS["layers"](*at)
    along = dict(zip(at, V, strict=True))
    plain = wg.run.Sequential(compiled=False)
    for question in (
        wg.jvp(y, along).map(list),
        wg.jacobian(y, at).map(list),
        wg.hessian_product(wg.sum(y * y), along).map(lambda found: [*found.values()]),
    ):
        wanted = question.run(plain)
        for _ in range(RUNS):
            for found, other in zip(question.run(executor), wanted, strict=True):
                assert_allclose(found, other, rtol=1e-12, atol=1e-12)


@dataclass(frozen=True)
class Model:
    w: Any
    d: Any
    rate: float = 0.5


def test_a_jacobian_has_the_structure_that_is_asked_by() -> None:
    _, w, d = operands()
    y = wg.sum(w, axis=0) * d
    found = wg.jacobian(y, Model(w, d)).run()
    assert type(found) is Model
    assert (found.w.shape, found.d.shape, found.rate) == ((2, 3, 2), (2,), 0.5)
    assert wg.jacobian(y, {"d": [d]}).run()["d"][0].shape == (2,)


def test_at_other_data() -> None:
    w = SETTINGS.double_weight(2.0)
    assert wg.jvp(w * w, {w: 1.0}, at={w: 5.0}).run() == (25.0, 10.0)
    assert wg.jacobian(w * w, w, at={w: 5.0}).run() == 10.0
    assert wg.hessian_product(w * w * w, {w: 1.0}, at={w: 5.0}).run() == {w: 30.0}
    assert w.data == 2.0


def test_layers_to_build_on() -> None:
    """Forward over forward, and a loss with a Jacobian in it."""
    x = wg.lift(0.5)
    _, slope = wg.jvp(wg.sin(x) * x, {x: 1.0}).layers
    _, curvature = wg.jvp(slope, {x: 1.0}).layers
    assert curvature.predict().run() == pytest.approx(2 * np.cos(0.5) - 0.5 * np.sin(0.5), rel=1e-12)

    w = SETTINGS.array_weight(W)
    v = wg.literal(np.array([1.0, 2.0, 3.0], np.float64))
    norm = wg.sum(wg.square(wg.jacobian(v @ w, v).layers))
    assert norm.train().run() == pytest.approx(float(np.sum(W * W)), rel=1e-12)
    assert_allclose(w.data, 0.8 * W, rtol=1e-12)

    (product,) = wg.hessian_product(wg.sum(w * w * w), {w: wg.stop_gradient(w)}).layers.values()
    assert_allclose(product.predict().run(), 6.0 * w.data * w.data, rtol=1e-12)


def test_a_jvp_takes_nodes_in_proportion_and_none_of_the_first_sweep() -> None:
    """What is linear in the delta of that sweep is not below a tangent."""

    def names(depth: int) -> list[str]:
        x = wg.literal(np.linspace(0.0, 1.0, 5))
        y: Any = x
        for _ in range(depth):
            y = wg.sin(y)
        _, tangent = wg.jvp(y, {x: np.ones(5)}).layers
        return [node.signature.operation.name for node in below(tangent, frozenset())[0]]

    small, middle, large = map(names, (10, 20, 30))
    assert len(large) - len(middle) == len(middle) - len(small)
    assert [found.count("cos") for found in (small, middle, large)] == [10, 20, 30]
    assert large.count("literal") == 3, "the input, the tangent, and no zeros of the first sweep"


def test_rows_share_the_forward_pass() -> None:
    w = SETTINGS.array_weight(W)
    y = wg.tanh(wg.tanh(wg.tanh(w)))
    few, many = (len(below(wg.jacobian(y[:n], w).layers, frozenset())[0]) for n in (1, 2))
    assert many - few < few


# -- refused ------------------------------------------------------------------------------------------


def test_what_is_refused() -> None:
    x, w, d = operands()
    y = wg.tanh(x @ w)
    with pytest.raises(ShapeError, match=r"jvp: an array of shape \(2,\) for <ArrayWeight"):
        wg.jvp(y, {w: np.ones(2)})
    with pytest.raises(DTypeError, match=r"hessian_product: an array of float32 for <ArrayWeight"):
        wg.hessian_product(wg.sum(y), {w: np.ones((3, 2), np.float32)})
    with pytest.raises(ShapeError, match=r"jvp: a tangent of shape \(\) for"):
        wg.jvp(y, {w: d})
    with pytest.raises(DTypeError, match="jvp: a tangent of float32 for"):
        wg.jvp(y, {w: wg.literal(np.ones((3, 2), np.float32))})
    with pytest.raises(ArgumentError, match="jvp: write the vector as a third argument, or"):
        wg.jvp(y, {})
    with pytest.raises(
        ArgumentError, match="hessian_product: there is no weight and no other expression in 'w'"
    ):
        wg.hessian_product(wg.sum(y), {"w": np.ones(2)})
    with pytest.raises(ArgumentError, match="jacobian: there is no weight"):
        wg.jacobian(y, (w, {"rate": 0.5}))
    with pytest.raises(ShapeError, match=r"hessian_product: a loss is a scalar, this one has shape \(2, 2\)"):
        wg.hessian_product(y, {w: W})
    with pytest.raises(NotDifferentiableError, match=r"jvp: <Mask greater .* is no array and no number"):
        wg.jvp(wg.greater(w, 0.0), {w: W})  # type: ignore[call-overload] # as above


@dataclass(frozen=True)
class Network:
    w: Any
    rest: Any
    rate: float = 0.5


def test_a_vector_has_the_structure_of_what_it_belongs_to() -> None:
    """For one expression, a tuple and a model the answers are those of the dictionary by expression."""
    x, w, d = operands()
    y = wg.tanh(x @ w)
    loss = wg.sum(y) * d
    wanted = wg.hessian_product(loss, {w: W, d: 2.0}).run()
    alone = wg.hessian_product(loss, {w: W}).run()[w]
    assert np.array_equal(wg.hessian_product(loss, w, W).run(), alone)
    assert np.array_equal(wg.hessian_product(loss, w, wg.literal(W)).layers.predict().run(), alone)
    by_tuple = wg.hessian_product(loss, (w, d), (W, 2.0)).run()
    assert type(by_tuple) is tuple
    assert np.array_equal(by_tuple[0], wanted[w])
    assert by_tuple[1] == wanted[d]
    model = Network(w, {"scale": [d, None]})
    vector = Network(W, {"scale": [2.0, None]})
    found: Any = wg.hessian_product(loss, model, vector).run()
    assert type(found) is Network
    assert np.array_equal(found.w, wanted[w])
    assert found.rest == {"scale": [wanted[d], None]}
    assert found.rate == 0.5
    for given in (((w, d), (W, 2.0)), (model, vector), ({w: W, d: 2.0},)):
        value, along = wg.jvp(y * d, *given).run()
        assert np.array_equal(value, (y * d).predict().run())
        assert np.allclose(along, wg.jvp(y * d, {w: W, d: 2.0}).run()[1])
    tied = wg.hessian_product(loss, (w, w), (W, W.copy())).run()
    assert np.array_equal(tied[0], alone)
    assert np.array_equal(tied[1], alone)


def test_vectors_that_do_not_fit() -> None:
    _, w, d = operands()
    loss = wg.sum(wg.square(w)) * d
    with pytest.raises(ArgumentError, match=r"hessian_product: write the vector as a third argument, or"):
        wg.hessian_product(loss, w)
    with pytest.raises(ShapeError, match=r"hessian_product: an array of shape \(2,\) for <ArrayWeight"):
        wg.hessian_product(loss, w, np.ones(2))
    with pytest.raises(
        ArgumentError, match=r"a structure as `wrt`, with an array in the place of each .* has \(2.0,\)"
    ):
        wg.hessian_product(loss, (w, d), (2.0,))
    with pytest.raises(ArgumentError, match=r"it has None at 'rest'"):
        wg.hessian_product(loss, Network(w, d), Network(W, None))
    with pytest.raises(ArgumentError, match=r"it has 2.0 at 'rest'"):
        wg.jvp(loss, Network(w, [d]), Network(W, 2.0))
    with pytest.raises(
        ArgumentError, match=r"stands in `wrt` twice, and the vector has different parts for it"
    ):
        wg.jvp(loss, (w, w), (W, 2 * W))
    with pytest.raises(ArgumentError, match=r"jvp: there is no weight and no other expression in \{'a': 1\}"):
        wg.jvp(loss, {"a": 1}, {"a": 2})


def test_a_run_may_choose_first() -> None:
    """What a function of a union has chosen is an expression, with all derivatives; a refusal says so."""

    @wg.differentiable
    async def bent(x: wg.DoubleLayer) -> wg.DoubleLayer | None:
        return x * x * x if await x > 0.0 else x

    @wg.differentiable
    async def closed(x: wg.DoubleLayer) -> wg.DoubleLayer:
        return x * x * x if await x > 0.0 else x

    d = SETTINGS.double_weight(2.0)
    chosen = bent(d * 1.0).run()
    assert chosen is not None
    assert wg.jvp(chosen, d, 1.0).run() == (8.0, 12.0)
    assert wg.jacobian(chosen, d).run() == 12.0
    assert wg.hessian_product(chosen, d, 1.0).run() == 12.0
    assert wg.gradients(closed(d * 1.0), d).run() == 12.0
    for made in (wg.jvp(closed(d * 1.0), d, 1.0), wg.hessian_product(closed(d * 1.0), d, 1.0)):
        with pytest.raises(
            NotDifferentiableError, match=r"annotated with a union.* its run\(\) gives the layer"
        ):
            _ = made.layers
    with pytest.raises(NotDifferentiableError, match=r"jacobian: what is behind .* is known only in the run"):
        _ = wg.jacobian(closed(d * 1.0), d).layers


def test_derivatives_go_to_other_processes() -> None:
    _, w, d = operands()
    loss = wg.sum(wg.square(w)) * d
    model = Network(w, [d, None])
    for do in (
        wg.jvp(loss, w, W),
        wg.jacobian(w[0], w),
        wg.jacobian(w[0], model),
        wg.hessian_product(loss, model, Network(W, [1.0, None])),
    ):
        again: Any = pickle.loads(pickle.dumps(do))
        wanted: Any = do.run()
        for a, b in zip(parts(again.run()), parts(wanted), strict=True):
            assert_allclose(a, b, rtol=0.0, atol=0.0)
        assert type(again.layers) is type(do.layers)


def parts(found: Any) -> list[Any]:  # Any: data, and a structure of them
    return [found.w, found.rest[0]] if isinstance(found, Network) else [found]


@wg.differentiable
async def decided(x: Any) -> wg.ArrayLayer[tuple[int], np.float64]:
    await wg.sum(x)
    found: wg.ArrayLayer[tuple[int], np.float64] = wg.sum(x, axis=0)
    return found


calls: list[str] = []
Matrix: TypeAlias = wg.ArrayLayer[tuple[int, int], np.float64]
Vector: TypeAlias = wg.ArrayLayer[tuple[int], np.float64]


@wg.differentiable
async def powers(h: Matrix) -> tuple[Matrix, wg.ArrayLayer[tuple[()], np.float64]]:
    calls.append("powers")
    return (h * h if await wg.sum(h) > 0.0 else h), wg.sum(h * h * h)


@wg.differentiable
async def outer(x: Matrix) -> Vector:
    calls.append("outer")
    first: Vector = decided(wg.tanh(x))
    return first * 1.0 if float((await first).sum()) < 1e9 else first


CHOICES: dict[str, Map3] = {
    "one": lambda x, w, d: decided(x @ w) * d,
    "one in another": lambda x, w, d: outer(x @ w * d),
    "a branch by hand": lambda x, w, d: wg.sum(decided(wg.tanh(x @ w)), axis=0) * decided(w)[:1],
    "a cell of what was chosen": lambda x, w, d: nested(decided(x @ w), decided(w)),
    "a target behind": lambda x, w, d: decided(w) * d + d,
}
STATED: dict[str, Map3] = {
    "one": lambda x, w, d: wg.sum(x @ w, axis=0) * d,
    "one in another": lambda x, w, d: wg.sum(wg.tanh(x @ w * d), axis=0),
    "a branch by hand": lambda x, w, d: (
        wg.sum(wg.sum(wg.tanh(x @ w), axis=0), axis=0) * wg.sum(w, axis=0)[:1]
    ),
    "a cell of what was chosen": lambda x, w, d: nested(wg.sum(x @ w, axis=0), wg.sum(w, axis=0)),
    "a target behind": lambda x, w, d: wg.sum(w, axis=0) * d + d,
}


@pytest.mark.parametrize("name", CHOICES)
@each
def test_what_a_run_chooses_is_derived(name: str, executor: Any) -> None:
    """As the same network without functions that wait, under every executor; each function is called once."""
    x, w, d = operands()
    y, stated = CHOICES[name](x, w, d), STATED[name](x, w, d)
    along = dict(zip((x, w, d), V, strict=True))
    derivatives: tuple[Callable[[Any], wg.Do[Any]], ...] = (
        lambda y: wg.jvp(y, along).map(list),
        lambda y: wg.jacobian(y, (x, w, d)).map(list),
        lambda y: wg.hessian_product(wg.sum(y * y), along).map(lambda found: [*found.values()]),
    )
    for derive in derivatives:
        calls.clear()
        found = derive(y).run(executor)
        assert calls.count("outer") == ("another" in name)
        for a, b in zip(found, derive(stated).run(), strict=True):
            assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_results_of_one_function_are_derived_apart() -> None:
    w = SETTINGS.array_weight(W)
    first, second = powers(w * w)
    calls.clear()
    assert_allclose(wg.jacobian(second, w).run(), 6.0 * W**5, rtol=1e-12)
    assert_allclose(wg.jvp(second * second, w, W).run()[1], 12.0 * np.sum(W**6) ** 2, rtol=1e-12)
    assert_allclose(wg.hessian_product(second, w, W).run(), 30.0 * W**5, rtol=1e-12)
    assert calls == ["powers"] * 3
    assert_allclose(wg.jvp(first, w, W).run()[1], 4.0 * W**4, rtol=1e-12)


def test_a_choice_at_other_data_and_inside_another_run() -> None:
    @wg.differentiable
    async def bent(x: wg.DoubleLayer) -> wg.DoubleLayer:
        calls.append("bent")
        return x * x * x if await x > 0.0 else x

    d = SETTINGS.double_weight(-2.0)
    y = bent(d * 1.0)
    calls.clear()
    assert wg.jvp(y, d, 1.0).run() == (-2.0, 1.0)
    assert wg.jvp(y, d, 1.0, at={d: 3.0}).run() == (27.0, 27.0)
    assert wg.hessian_product(y, d, 1.0, at={d: 3.0}).run() == 18.0
    assert len(calls) == 3
    calls.clear()
    value, slope, loss = wg.gather(y.predict(), wg.jacobian(y, d), y.train()).run()
    assert (value, slope, loss, d.data) == (-2.0, 1.0, -2.0, -2.1)
    assert calls == ["bent"], "one run, one call"


def test_what_no_run_tells_is_named() -> None:
    """A tape of a user's has no expression; the error comes in the run then."""
    w = SETTINGS.array_weight(W)
    opaque = wg.ArrayLayer(decided(w).forward.map(lambda tape: wg.Tape(tape.data, tape.backward)))
    with pytest.raises(NotDifferentiableError, match=r"jacobian: the shape of .* is known only in the run"):
        wg.jacobian(opaque, w).run()
    d = SETTINGS.double_weight(2.0)
    hidden = wg.DoubleLayer((d * d).forward.map(lambda tape: wg.Tape(tape.data, tape.backward)))
    with pytest.raises(
        NotDifferentiableError, match=r"jvp: what is behind .* is known only in the run"
    ) as caught:
        wg.jvp(hidden, {d: 1.0}).run()
    assert "gradients" not in str(caught.value)


def test_what_is_derived_of_a_choice_goes_to_other_processes() -> None:
    w = SETTINGS.array_weight(W)
    for do in (
        wg.jvp(decided(w), w, W),
        wg.jacobian(decided(w), w),
        wg.hessian_product(wg.sum(decided(w)), w, W),
    ):
        again: Any = cloudpickle.loads(cloudpickle.dumps(do)).run()
        assert all(map(np.array_equal, again, do.run()))
