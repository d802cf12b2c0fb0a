"""The gradient check finds what is wrong, and says where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.arrays import HOST
from wengert.graph.operation import OPERATIONS
from wengert.plugins import SGD
from wengert.testing import Checked, check_gradients
from wengert.testing.numerical import complex_step, differences

X = np.array([[0.5, 1.0, 2.0], [3.0, 0.25, 1.5]], np.float64)
Rule = Callable[..., Any]  # Any: rules take data of every column


@pytest.fixture
def operation() -> Iterator[Callable[[Rule, Rule], Any]]:
    """Makes unary operations for one test; the registry is restored."""
    before = dict(OPERATIONS)

    def make(value: Rule, derivative: Rule) -> Any:  # Any: an operation
        value.__name__ = f"made_{len(OPERATIONS)}"
        return wg.extend.elementwise(derivative)(value)

    yield make
    OPERATIONS.clear()
    OPERATIONS.update(before)


def test_what_is_found() -> None:
    found = check_gradients(wg.exp, X)
    assert found == Checked("complex step", 2 * 6 * (6 + 2), found.worst)
    assert 0.0 <= found.worst < 1e-14
    assert check_gradients(wg.abs, X).method == "differences"
    assert check_gradients(wg.multiply, 2.0, X).method == "complex step"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda c, g, y, x: g,
        lambda c, g, y, x: y,  # the ancestor's mistake: right only for g = 1
        lambda c, g, y, x: -g * y,
        lambda c, g, y, x: g * y * (1 + 1e-10),
        lambda c, g, y, x: g * y + 1e-10,
        lambda c, g, y, x: c.xp.where(c.xp.greater(x, 2.5), 0.0, g * y),
        lambda c, g, y, x: g * y * float("nan"),
        lambda c, g, y, x: g * y * float("inf"),
        lambda c, g, y, x: g[:1] * y[:1],
        lambda c, g, y, x: (g * y).astype("float32"),
    ],
)
def test_a_wrong_derivative_of_exp_is_found(operation: Callable[[Rule, Rule], Any], wrong: Rule) -> None:
    with pytest.raises(AssertionError, match=r"made_\d+: operand 0 as a weight"):
        check_gradients(operation(lambda c, x: c.xp.exp(x), wrong), X)


def test_a_wrong_derivative_without_a_complex_step_is_found(operation: Callable[[Rule, Rule], Any]) -> None:
    made = operation(lambda c, x: c.xp.abs(x), lambda c, g, y, x: g * (1 + 1e-8))
    with pytest.raises(AssertionError, match=r"relative error \d\.\de-08, allowed 1e-09"):
        check_gradients(made, X)
    check_gradients(made, X, rtol=1e-7)


def test_the_message_names_operand_index_and_both_numbers() -> None:
    def half(x: Any, y: Any) -> Any:  # Any: expressions of every column
        return wg.multiply(x, wg.stop_gradient(x)) + y

    with pytest.raises(AssertionError) as caught:
        check_gradients(half, X, 2.0, seed=1)
    text = str(caught.value)
    found = re.search(
        r"operand 0 as a weight, .*: at index \((\d), (\d)\) the delta is (\S+), the numerical one (\S+);",
        text,
    )
    assert found, text
    assert "half" in text
    assert 2 * float(found[3]) == pytest.approx(float(found[4]))


def test_a_delta_that_never_arrives_is_found() -> None:
    with pytest.raises(AssertionError, match="operand 1 as a weight"):
        check_gradients(lambda a, b: a * wg.stop_gradient(b), X, X)


def test_a_derivative_that_is_wrong_for_layers_only_is_found() -> None:
    def weights_only(x: Any) -> Any:  # Any: a weight or a layer
        return wg.square(x) if x.kind.role.name == "WEIGHT" else wg.square(wg.stop_gradient(x))

    with pytest.raises(AssertionError, match="operand 0 as a layer"):
        check_gradients(weights_only, X)


def test_functions_with_binds_are_checked_by_differences() -> None:
    @wg.differentiable
    async def chosen(x: wg.DoubleLayer, y: wg.DoubleLayer) -> wg.DoubleLayer:
        return x * y if await x > 0 else x + y

    assert check_gradients(lambda x, y: chosen(x * 1.0, y * 1.0), 2.0, 3.0).method == "differences"


@pytest.mark.parametrize("operand", [X.astype(np.float32), np.float32(1), np.array([1, 2]), "x"])
def test_only_float64_is_checked(operand: Any) -> None:
    """Any: refused on purpose."""
    with pytest.raises(TypeError, match=r"operand 1 is .*float64 only"):
        check_gradients(wg.add, X, operand)


def test_the_result_is_float64_too() -> None:
    with pytest.raises(TypeError, match="the result is bool"):
        check_gradients(lambda x: wg.greater(x, 0.0), X)


def test_weights_that_the_function_closes_over_stay_as_they_are() -> None:
    w = SGD(learning_rate=0.1).array_weight(X)
    check_gradients(lambda x: x * w, X)
    assert (w.data == X).all()


def test_the_numerical_methods_by_themselves() -> None:
    matrix = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, -1.0]])
    for method in (differences, complex_step):
        np.testing.assert_allclose(method(lambda x: matrix @ x, np.ones(2)), matrix, rtol=1e-12, atol=1e-13)
        assert method(lambda x: x, np.ones((2, 0))).shape == (0, 0)
        assert method(lambda x: HOST.sum(x), np.ones((0,))).shape == (1, 0)
    near_a_kink = differences(np.abs, np.array([0.001, -0.001]))
    np.testing.assert_allclose(near_a_kink, np.diag([1.0, -1.0]), atol=1e-9)
    near_a_pole = differences(np.log, np.array([0.05]))
    np.testing.assert_allclose(near_a_pole, [[20.0]], rtol=1e-9)
