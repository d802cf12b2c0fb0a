"""Second derivatives of every operation: the whole Hessian against numerical ones, on generated operands (bar 3)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import wengert as wg
from tests.often import examples
from wengert import fft
from wengert.extend import Rules
from wengert.ops.backward import SAFE_PRODUCT
from wengert.plugins import SGD
from wengert.testing import check_gradients

from .subjects import CONSTANT, DIFFERENTIABLE, SUBJECTS, Example
from .test_gradients import PAIRS, weight_of

SETTINGS = SGD(learning_rate=0.1)
SCALARS = [name for name in DIFFERENTIABLE if SUBJECTS[name].floats]

LINEAR = "it is linear"
PIECEWISE = "it is linear between its kinks, at which it has no second derivative; every rule gives 0 there"
# Operations whose second derivative is 0 by each of their operands and by two of them together, and why.
ZERO: Final[dict[str, str]] = {
    **dict.fromkeys(
        ["add", "subtract", "negative", "sum", "mean", "where", "astype", "positive", "to_device"],
        LINEAR,
    ),
    **dict.fromkeys(["reshape", "permute_dims", "expand_dims", "squeeze", "broadcast_to", "flip"], LINEAR),
    **dict.fromkeys(["roll", "concat", "stack", "split", "pad", "avg_pool2d", "dropout"], LINEAR),
    **dict.fromkeys(["cumulative_sum", "diff", "moveaxis", "matrix_transpose", "repeat", "tile"], LINEAR),
    **dict.fromkeys(["broadcast_arrays", "meshgrid", "tril", "triu", "diagonal", "trace", "unstack"], LINEAR),
    **dict.fromkeys(["index_add", "scatter_add", "segment_mean", "sparse_matmul"], LINEAR),
    **dict.fromkeys(["getitem", "take", "take_along_axis", "segment_sum", "nll_loss"], LINEAR),
    **dict.fromkeys(["interpolate", "pixel_shuffle", "pixel_unshuffle"], LINEAR),
    **dict.fromkeys(["adaptive_avg_pool2d", "avg_pool1d"], LINEAR),
    **dict.fromkeys([name for name in fft.__all__ if name.islower() and "freq" not in name], LINEAR),
    **dict.fromkeys(["adaptive_max_pool2d", "max_pool1d"], PIECEWISE),
    **dict.fromkeys(["leaky_relu", "l1_loss", "hinge_loss", "hinge_embedding_loss"], PIECEWISE),
    **dict.fromkeys(["top_k", "sort", "segment_max", "segment_min", "copysign", "remainder"], PIECEWISE),
    **dict.fromkeys(["relu", "abs", "maximum", "minimum", "clip", "max", "min", "max_pool2d"], PIECEWISE),
}
CURVED = [name for name in DIFFERENTIABLE if name not in ZERO]


def layers(loss: Any, xs: list[Any]) -> list[Any]:
    """Any: expressions of every column."""
    return wg.gradients(loss, xs).layers


def array(*x: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(x, np.float64)


def scalar(result: Any) -> Any:
    """Any: expressions. A loss whose delta differs from element to element."""
    if not isinstance(result, wg.ArrayLayer):
        return result * 1.5
    size = int(np.prod(result.shape))
    g: Any = np.linspace(1.0, 2.0, size, dtype=result.dtype).reshape(result.shape)
    return wg.sum(result * g)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@examples(5, nightly=2_000)
@given(data=st.data())
def test_the_hessian(name: str, data: st.DataObject) -> None:
    example = data.draw(SUBJECTS[name].examples)
    check_gradients(example.call, *example.operands, order=2)


@pytest.mark.parametrize("name", SCALARS)
@examples(10)
@given(data=st.data())
def test_the_hessian_of_doubles(name: str, data: st.DataObject) -> None:
    numbers = tuple(data.draw(x) for x in SUBJECTS[name].floats or ())
    assert check_gradients(getattr(wg, name), *numbers, order=2).elements


@pytest.mark.parametrize("name", PAIRS)
@examples(8)
@given(data=st.data())
def test_the_hessian_beside_a_literal(name: str, data: st.DataObject) -> None:
    """An array, or where it makes sense a number, which a rule computes with at once."""
    example = data.draw(SUBJECTS[name].examples)
    a, b = example.operands
    check_gradients(lambda x: example.call(x, b), a, order=2)
    check_gradients(lambda x: example.call(a, x), b, order=2)
    if name not in ("matmul", "where"):
        check_gradients(lambda x: example.call(x, 1.5 + 1 / 16), a, order=2)
        check_gradients(lambda x: example.call(1.5 + 1 / 16, x), b, order=2)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@examples(8)
@given(data=st.data())
def test_the_layers_have_the_values_of_the_run(name: str, data: st.DataObject) -> None:
    example = data.draw(SUBJECTS[name].examples)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-4)):
        weights = [weight_of(x.astype(dtype)) for x in example.operands]
        loss = scalar(example.call(*weights))
        wanted = wg.gradients(loss, weights).run()
        for layer, want, w in zip(layers(loss, weights), wanted, weights, strict=True):
            value = layer.predict().run()
            assert (layer.shape, layer.dtype) == (w.shape, w.dtype) == (value.shape, value.dtype)
            assert_allclose(value, want, rtol=tolerance, atol=tolerance)


def bends(example: Example) -> bool:
    """True if an operation has a second derivative that is not 0 there."""
    weights = [weight_of(x) for x in example.operands]
    firsts = layers(scalar(example.call(*weights)), weights)
    return any(
        delta.any() for first in firsts for delta in wg.gradients(wg.sum(wg.sin(first)), weights).run()
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in DIFFERENTIABLE if name in ZERO])
@examples(24)
@given(data=st.data())
def test_what_is_said_to_have_none_has_none(name: str, data: st.DataObject) -> None:
    assert not bends(data.draw(SUBJECTS[name].examples))


@pytest.mark.slow
@pytest.mark.parametrize("name", CURVED)
def test_the_rest_has_one(name: str) -> None:
    """`find` raises where it sees none."""
    first = settings(max_examples=24, database=None, derandomize=True, phases=[Phase.generate])
    assert bends(find(SUBJECTS[name].examples, bends, settings=first))


def test_the_list_names_operations() -> None:
    assert ZERO.keys() <= set(DIFFERENTIABLE)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in CONSTANT
        if not name.startswith(("logical", "arg", "searchsorted", "count", "matrix_rank", "nonzero"))
    ],
)
@examples(6)
@given(data=st.data())
def test_the_derivative_of_a_constant_is_zeros(name: str, data: st.DataObject) -> None:
    example = data.draw(SUBJECTS[name].examples)
    weights = [weight_of(x) for x in example.operands]
    for layer, x in zip(layers(wg.sum(example.call(*weights)), weights), example.operands, strict=True):
        assert not layer.predict().run().any()
        assert layer.shape == x.shape


ROOTS: Final[dict[str, Callable[[Any], Any]]] = {  # Any: expressions
    "sqrt": wg.sqrt,
    "log": wg.log,
    "pow": lambda x: x**0.5,
    "steep pow": lambda x: x**1.5,
    "weighted pow": lambda x: wg.pow(x, wg.multiply(x, 0.0) + 0.5),
    "divide": lambda x: 1.0 / x,
    "log1p": lambda x: wg.log1p(x - 1.0),
    "product": lambda x: wg.sqrt(x) * (x + 1.0),
}


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", ROOTS)
def test_no_derivative_at_a_masked_out_point_is_no_number(name: str, order: int) -> None:
    """S12 at 0, where the functions have infinite derivatives; beside it they are those of the function alone."""
    x: Any = SETTINGS.array_weight(array(0.0, 4.0))
    alone: Any = SETTINGS.array_weight(array(4.0))
    y, plain = wg.where(wg.greater(x, 0.0), ROOTS[name](x), 0.0), ROOTS[name](alone)
    for _ in range(order):
        (y,), (plain,) = layers(wg.sum(y), [x]), layers(wg.sum(plain), [alone])
    value = y.predict().run()
    assert value[0] == 0.0
    assert value[1] == pytest.approx(plain.predict().run()[0], rel=1e-12)
    (delta,) = wg.gradients(wg.sum(wg.square(y)), (x,)).run()
    assert delta[0] == 0.0
    assert np.isfinite(delta).all()


@pytest.mark.parametrize(
    ("function", "at"),
    [(lambda x: wg.square(wg.sin(x)), 0.0), (lambda x: wg.square(x) * wg.exp(x), 0.0), (wg.square, 0.0)],
)
def test_a_delta_of_nothing_still_has_a_derivative(function: Callable[[Any], Any], at: float) -> None:
    """Any: expressions. A first derivative of 0 is 0 by its operands' values, not for all of them."""
    both: tuple[Any, Any] = SETTINGS.double_weight(at), SETTINGS.array_weight(array(at))
    for x in both:
        (first,) = layers(wg.sum(function(x)), [x])
        assert not np.any(first.predict().run())
        (second,) = wg.gradients(wg.sum(first), (x,)).run()
        assert np.allclose(second, 2.0, rtol=1e-12)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_ties_are_split_once(name: str) -> None:
    a, b = (SETTINGS.array_weight(array(1.0, 2.0)) for _ in range(2))
    first, _ = layers(wg.sum(wg.square(getattr(wg, name)(a, b))), [a, b])
    assert_allclose(first.predict().run(), [1.0, 2.0])
    for found in wg.gradients(wg.sum(first), (a, b)).run():
        assert_allclose(found, [0.5, 0.5])


@pytest.mark.parametrize("reduce", [wg.logsumexp, wg.max, lambda x: wg.cross_entropy(x, np.array(0))])
def test_ties_among_the_greatest(reduce: Callable[[Any], Any]) -> None:
    """Any: expressions. logsumexp is smooth there, and its Hessian is that of softmax."""
    x = SETTINGS.array_weight(array(2.0, 2.0, 1.0))
    (first,) = layers(reduce(x), [x])
    rows = [wg.gradients(first[i], (x,)).run()[0] for i in range(3)]
    p = wg.softmax(x).predict().run()
    wanted = np.zeros((3, 3)) if reduce is wg.max else np.diag(p) - np.outer(p, p)
    assert_allclose(rows, wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
def test_products_over_zeros(zeros: int) -> None:
    """The Hessian of a product is the product of all others, without a division."""
    values = array(*[0.0] * zeros, *[2.0, -3.0, 5.0, 0.5, 3.0, -7.0, 1.5][zeros:])
    count = len(values)
    x = SETTINGS.array_weight(values)
    (first,) = layers(wg.prod(x), [x])
    rows = np.array([wg.gradients(first[i], (x,)).run()[0] for i in range(count)])
    others = [[np.prod(np.delete(values, [i, j])) for j in range(count)] for i in range(count)]
    wanted = np.array(others) * (1.0 - np.eye(count))
    assert_allclose(rows, wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    "name", ["sin", "exp", "tanh", "sigmoid", "log", "sqrt", "erf", "gelu", "square", "divide"]
)
def test_third_derivatives(name: str) -> None:
    call = getattr(wg, name)

    def second(*xs: Any) -> Any:  # Any: expressions of every column
        (first,) = layers(wg.sum(call(*xs)), [*xs])[:1]
        return layers(wg.sum(first), [*xs])[0]

    operands = [array(0.5, 1.25)] * (2 if name == "divide" else 1)
    assert check_gradients(second, *operands, order=2).worst <= 1e-9


@pytest.fixture
def product_rules() -> Iterator[Rules]:
    """The rules of the product; they hold again after the test."""
    assert SAFE_PRODUCT.rules is not None
    rules = SAFE_PRODUCT.rules
    yield rules
    SAFE_PRODUCT.define(rules)


def test_the_check_finds_a_wrong_second_derivative(product_rules: Rules) -> None:
    """The first derivative of a product uses other products than its second."""
    x = array(2.0, 0.5)
    wrong = (lambda c, g, y, a, b: g * b, lambda c, g, y, a, b: g * a * 0.99)
    SAFE_PRODUCT.define(dataclasses.replace(product_rules, derivatives=wrong))
    check_gradients(wg.square, x)
    with pytest.raises(AssertionError, match="the derivative of square by operand 0"):
        check_gradients(wg.square, x, order=2)
