"""The rows of the requirements one by one: formulas of derivatives, ties, zeros, the ancestor's mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import wengert as wg
from wengert.graph.operation import OPERATIONS

from .test_gradients import SETTINGS, weight_of

INF, NAN = math.inf, math.nan


def pull(call: Any, g: Any, *operands: Any) -> list[Any]:
    """Any: data of every column. The deltas at `operands` as weights, for `g` at the result."""
    weights = [weight_of(x) for x in operands]
    result = call(*weights)
    scaled = result * g
    loss = wg.sum(scaled) if isinstance(result, wg.ArrayLayer) else scaled
    return deltas_of(loss, *weights)


def deltas_of(loss: Any, *weights: Any) -> list[Any]:
    """Any: a scalar layer, its weights, data of their columns."""
    return list(wg.gradients(loss, list(weights)).run())


def both(call: Any, g: float, *numbers: float) -> list[float]:
    """Any: an operation. The deltas of numbers; those of arrays and of float32 numbers are the same."""
    deltas = pull(call, g, *numbers)
    columns: list[Callable[[float], Any]] = [lambda x: np.array([x, x]), np.asarray]  # Any: arrays
    for column in columns:
        arrays = pull(call, g, *(column(x) for x in numbers))
        for array, delta in zip(arrays, deltas, strict=True):
            assert_allclose(array, np.full(np.shape(array), delta), rtol=1e-15)
    singles = pull(call, np.float32(g), *map(np.float32, numbers))
    assert_allclose(singles, deltas, rtol=1e-6)
    assert all(type(delta) is np.float32 for delta in singles)
    return deltas


@pytest.mark.parametrize("g", [1.0, -0.5, 3.0])
def test_d28_arithmetic(g: float) -> None:
    a, b = 3.0, 0.5
    assert both(wg.add, g, a, b) == [g, g]
    assert both(wg.subtract, g, a, b) == [g, -g]
    assert both(wg.multiply, g, a, b) == [g * b, g * a]
    assert both(wg.divide, g, a, b) == [g / b, -g * a / b**2]
    assert both(wg.negative, g, a) == [-g]


@pytest.mark.parametrize("g", [1.0, -0.5, 3.0])
def test_d29_elementary(g: float) -> None:
    x = 4.0
    assert both(wg.exp, g, x) == [g * math.exp(x)]
    assert both(wg.log, g, x) == [g / x]
    assert both(wg.sqrt, g, x) == [g / 4.0]
    assert both(wg.square, g, x) == [2 * g * x]
    assert [both(wg.abs, g, s) for s in (2.0, -2.0, 0.0, -0.0)] == [[g], [-g], [0.0], [0.0]]
    assert [both(wg.relu, g, s) for s in (2.0, -2.0, 0.0)] == [[g], [0.0], [0.0]]


def test_d30_pow() -> None:
    assert_allclose(both(wg.pow, 2.0, 3.0, 2.0), [2.0 * 2.0 * 3.0, 2.0 * 9.0 * math.log(3.0)])
    assert both(wg.pow, 1.0, 0.0, 0.0)[0] == 0.0
    assert both(wg.pow, 1.0, 0.0, 2.0) == [0.0, 0.0]
    assert both(wg.pow, 1.0, 0.0, 1.0) == [1.0, 0.0]
    assert both(wg.pow, 1.0, 5.0, 0.0)[0] == 0.0
    negative = both(wg.pow, 1.0, -2.0, 3.0)
    assert negative[0] == 12.0
    assert math.isnan(negative[1])  # the logarithm of a negative base


def test_d30_the_derivative_of_a_literal_exponent_is_never_computed() -> None:
    w = SETTINGS.array_weight(np.array([-2.0, 0.0, 3.0], np.float64))
    result = w**2.0
    assert [index for index, _ in result.signature.pulls] == [0]
    assert deltas_of(wg.sum(result), w)[0].tolist() == [-4.0, 0.0, 6.0]
    right = wg.pow(2.0, w)
    assert [index for index, _ in right.signature.pulls] == [1]


def test_d24_the_delta_of_an_exponent_has_its_dtype_whatever_the_number_below_it() -> None:
    w = SETTINGS.array_weight(np.array([1.0, 2.0], np.float32))
    (delta,) = deltas_of(wg.sum(wg.pow(2.0, w)), w)
    assert delta.dtype == np.float32
    assert_allclose(delta, np.log(2.0) * np.array([2.0, 4.0], np.float32), rtol=1e-6)


def test_d31_mean_runs_its_operand_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    counting = wg.extend.elementwise(lambda c, g, y, x: g)

    @counting
    def counted(c: Any, x: Any) -> Any:  # Any: data of every column
        runs.append(1)
        return x

    try:
        w = SETTINGS.array_weight(np.arange(4.0))
        assert deltas_of(wg.mean(counted(w)), w)[0].tolist() == [0.25] * 4
    finally:
        del OPERATIONS[f"{__name__}.counted"]
    assert len(runs) == 1


@pytest.mark.parametrize("name", ["take", "getitem"])
def test_d32_repeated_indices_add_up(name: str) -> None:
    rows = np.array([2, 0, 2, -1])
    call = getattr(wg, name)
    (delta,) = pull(lambda x: call(x, rows), np.array([[1.0], [2.0], [4.0], [8.0]]), np.zeros((3, 2)))
    assert delta.tolist() == [[2.0, 2.0], [0.0, 0.0], [13.0, 13.0]]


def test_indices_in_every_form() -> None:
    x = np.arange(6.0).reshape(3, 2)
    w = SETTINGS.array_weight(x)
    for rows in ([2, 0], np.array([2, 0], np.int8), np.array([2, 0], np.uint8), np.array([-1, -3])):
        assert wg.take(w, rows).predict().run().tolist() == [[4.0, 5.0], [0.0, 1.0]]
        assert w[rows].predict().run().tolist() == [[4.0, 5.0], [0.0, 1.0]]
    (delta,) = deltas_of(wg.sum(w[1, ::-1] * np.array([2.0, 3.0], np.float64)), w)
    assert delta.tolist() == [[0.0, 0.0], [3.0, 2.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3), (3,)),
        ((2, 3), (1, 3)),
        ((2, 3), (2, 1)),
        ((2, 1), (1, 3)),
        ((4, 2, 3), (2, 1)),
        ((2, 3), ()),
        ((0, 3), (1, 3)),
    ],
)
def test_d33_the_delta_sums_over_each_stretched_axis(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    shape = np.broadcast_shapes(left, right)
    g = np.arange(float(math.prod(shape))).reshape(shape)
    for a, b in ((left, right), (right, left)):
        for delta, x in zip(pull(wg.add, g, np.ones(a), np.ones(b)), (a, b), strict=True):
            lead = len(shape) - len(x)
            stretched = (
                *range(lead),
                *(lead + i for i, n in enumerate(x) if n == 1 and shape[lead + i] != 1),
            )
            assert_array_equal(delta, g.sum(axis=stretched).reshape(x))


@pytest.mark.parametrize("g", [1.0, -3.0])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_d35_two_that_are_tied_get_half_each(name: str, g: float) -> None:
    call = getattr(wg, name)
    assert both(call, g, 2.0, 2.0) == [g / 2, g / 2]
    assert both(call, g, 0.0, -0.0) == [g / 2, g / 2]
    greater = both(call, g, 3.0, 2.0)
    assert greater == ([g, 0.0] if name == "maximum" else [0.0, g])
    (twice,) = pull(lambda x: call(x, x), g, np.array([2.0]))
    assert twice.tolist() == [g]


@pytest.mark.parametrize("name", ["max", "min"])
def test_d35_k_that_are_tied_get_a_kth_each(name: str) -> None:
    sign = 1.0 if name == "max" else -1.0
    x = sign * np.array([[1.0, 4.0, 4.0], [4.0, 0.0, 2.0]])
    call = getattr(wg, name)
    assert pull(call, 3.0, x)[0].tolist() == [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    rows = pull(lambda x: call(x, axis=1), np.array([2.0, 8.0]), x)[0]
    assert rows.tolist() == [[0.0, 1.0, 1.0], [8.0, 0.0, 0.0]]
    columns = pull(lambda x: call(x, axis=0, keepdims=True), np.array([[1.0, 2.0, 3.0]]), x)[0]
    assert columns.tolist() == [[0.0, 2.0, 3.0], [1.0, 0.0, 0.0]]
    assert pull(call, 5.0, 2.0) == [5.0]


ZERO_STAYS = [  # every local derivative here is infinite or no number
    (wg.sqrt, (0.0,)),
    (wg.sqrt, (-1.0,)),
    (wg.log, (0.0,)),
    (wg.log, (-1.0,)),
    (wg.divide, (1.0, 0.0)),
    (wg.divide, (0.0, 0.0)),
    (wg.divide, (INF, INF)),
    (wg.pow, (0.0, -1.0)),
    (wg.pow, (-1.0, 0.5)),
    (wg.pow, (0.0, 0.5)),
    (wg.pow, (-2.0, 3.0)),
]


@pytest.mark.parametrize(("call", "numbers"), ZERO_STAYS)
def test_d36_a_delta_of_zero_stays_zero(call: Any, numbers: tuple[float, ...]) -> None:
    """Any: an operation. A loss that leaves the point out by `where` gives an exact zero, in every column."""

    def masked(*xs: Any) -> Any:  # Any: expressions of every column
        return wg.where(wg.greater(xs[0] * 0.0, 1.0), call(*xs), xs[0] * 0.0)

    columns: list[Callable[[float], Any]] = [float, np.float32, np.asarray, lambda x: np.array([x, 2.0])]
    for column in columns:
        operands = [column(x) for x in numbers]
        loss = masked(*(weights := [weight_of(x) for x in operands]))
        loss = wg.sum(loss) if isinstance(loss, wg.ArrayLayer) else loss
        for index, delta in enumerate(wg.gradients(loss, weights).run()):
            if not (index == 0 and math.isinf(numbers[0])):  # there 0 · infinity is the test's own NaN
                assert np.all(np.asarray(delta) == 0.0)


@pytest.mark.parametrize(
    ("call", "derivative"),
    [
        (wg.sqrt, lambda x: 0.5 / np.sqrt(x)),
        (wg.log, lambda x: 1 / x),
        (lambda x: x**0.5, lambda x: 0.5 / np.sqrt(x)),
        (lambda x: 1.0 / x, lambda x: -1 / x**2),
    ],
)
def test_d36_inside_where(call: Any, derivative: Any) -> None:
    """Any: an operation and its derivative. `where(greater(x, 0), sqrt(x), 0)` and the like (S12)."""
    x = np.array([4.0, 0.0, -1.0, 0.25], np.float64)
    w = SETTINGS.array_weight(x)
    (delta,) = deltas_of(wg.sum(wg.where(wg.greater(w, 0.0), call(w), 0.0)), w)
    assert delta.tolist() == [derivative(4.0), 0.0, 0.0, derivative(0.25)]
    for number in x.tolist():
        v = SETTINGS.double_weight(number)
        (delta,) = deltas_of(wg.where(wg.greater(v, 0.0), call(v), 0.0), v)
        assert delta == (derivative(number) if number > 0 else 0.0)


def test_d36_where_a_delta_is_not_zero_the_infinity_shows() -> None:
    assert pull(wg.sqrt, np.array([1.0, 0.0]), np.zeros(2))[0].tolist() == [INF, 0.0]
    assert both(wg.log, 1.0, 0.0) == [INF]


def test_d38_array_sqrt_heeds_g() -> None:
    assert pull(wg.sqrt, np.array([3.0, -2.0]), np.array([4.0, 16.0]))[0].tolist() == [0.75, -0.25]


def test_d38_abs_at_zero_and_pow_at_zero() -> None:
    assert both(wg.abs, 7.0, 0.0) == [0.0]
    assert both(wg.pow, 7.0, 0.0, 2.0) == [0.0, 0.0]
    assert wg.pow(0.0, 0.0).predict().run() == 1.0


def test_sign_of_zero_and_of_nan() -> None:
    for column in (float, np.float32, np.asarray):
        assert wg.sign(weight_of(column(0.0))).predict().run() == 0.0
        assert math.isnan(wg.sign(weight_of(column(NAN))).predict().run())
        assert math.isnan(wg.relu(weight_of(column(NAN))).predict().run())
        assert math.isnan(wg.maximum(weight_of(column(NAN)), 1.0).predict().run())
        assert math.isnan(wg.minimum(weight_of(column(1.0)), NAN).predict().run())


@pytest.mark.parametrize("label", [-1, 3])
def test_a_label_that_is_no_class(label: int) -> None:
    w = SETTINGS.array_weight(np.zeros((2, 3)))
    with pytest.raises(wg.errors.ShapeError, match=rf"cross_entropy: label {label} is none of the 3 classes"):
        wg.cross_entropy(w, np.array([0, label]))


def test_extreme_logits() -> None:
    x = np.array([[1000.0, 0.0, -1000.0], [-INF, 0.0, 0.0]], np.float64)
    w = SETTINGS.array_weight(x)
    assert_allclose(wg.softmax(w).predict().run(), [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    assert_allclose(wg.log_softmax(w).predict().run()[0], [0.0, -1000.0, -2000.0])
    loss = wg.cross_entropy(w, np.array([2, 1]))
    assert_allclose(loss.predict().run(), (2000.0 + math.log(2.0)) / 2)
    assert_allclose(deltas_of(loss, w)[0], [[0.5, 0.0, -0.5], [0.0, -0.25, 0.25]])


def test_sums_of_nothing() -> None:
    empty = SETTINGS.array_weight(np.zeros((0, 3)))
    assert wg.sum(empty).predict().run() == 0.0
    assert math.isnan(wg.mean(empty).predict().run())
    assert wg.sum(empty, axis=0).predict().run().tolist() == [0.0, 0.0, 0.0]
    for name in ("sum", "mean"):
        assert deltas_of(getattr(wg, name)(empty), empty)[0].shape == (0, 3)
    for name in ("max", "min"):
        with pytest.raises(wg.errors.ShapeError, match=rf"{name}: no element to choose from"):
            getattr(wg, name)(empty)


def test_a_mask_is_counted_in_float32() -> None:
    w = SETTINGS.array_weight(np.array([-1.0, 2.0, 3.0], np.float64))
    count = wg.sum(wg.greater(w, 0.0)).predict().run()
    assert count == 2.0
    assert (count.dtype, count.shape) == (np.dtype(np.float32), ())
