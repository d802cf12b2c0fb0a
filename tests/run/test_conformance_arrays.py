"""Conformance rows of section J about arrays: (4, 4) and summed, rate 1, unless the row says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import ArrayLayer, ArrayWeight
from wengert.plugins import SGD

Weight = ArrayWeight[Any, np.float64]  # Any: the shape, which the rows state in numbers
Layer = ArrayLayer[Any, np.float64]  # Any: as above
Scalar = ArrayLayer[tuple[()], np.float64]


def full(data: float = 1.0, rate: float = 1.0) -> Weight:
    return SGD(learning_rate=rate).array_weight(np.full((4, 4), data, np.float64))


def counted(*shape: int, rate: float = 1.0) -> Weight:
    """1, 2, 3, ... in a shape."""
    return SGD(learning_rate=rate).array_weight(np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape))


def trained(loss: Scalar, times: int) -> float:
    """The last of `times` losses."""
    train = loss.train()
    for _ in range(times - 1):
        train.run()
    return float(train.run())


def total(w: Weight) -> float:
    return float(w.data.sum())


@pytest.mark.parametrize("loss", [lambda w: w + 1.0, lambda w: 1.0 + w, lambda w: w - (-1.0)])
def test_d183_add(loss: Callable[[Weight], Layer]) -> None:
    w = full()
    layer = wg.sum(loss(w))
    trained(layer, 2)
    assert total(w) == -16.0
    assert layer.predict().run() == 0.0


def test_d184_subtract() -> None:
    w = full(-1.0)
    trained(wg.sum(1.0 - w), 2)
    assert total(w) == 16.0


@pytest.mark.parametrize("loss", [lambda w: w * 1.0, lambda w: 1.0 * w, lambda w: w / 1.0])
def test_d185_multiply_and_divide(loss: Callable[[Weight], Layer]) -> None:
    w = full(2.0)
    layer = wg.sum(loss(w))
    trained(layer, 2)
    assert total(w) == 0.0
    assert layer.predict().run() == 0.0


@pytest.mark.slow  # 20,000 trainings: about 1 s
def test_d186_divide_by_the_weight() -> None:
    w = full()
    assert trained(wg.sum(1.0 / w), 20_000) < 0.5
    assert total(w) > 600.0


def test_d187_minimum() -> None:
    w = full(10.0)
    layer = wg.sum(wg.minimum(w, 100.0))
    trained(layer, 10)
    assert layer.predict().run() == 0.0
    assert total(w) == 0.0


def test_d188_exp() -> None:
    w = full(10.0)
    assert trained(wg.sum(wg.exp(w)), 50) < 1.0
    assert total(w) < 1.0


def test_d189_abs() -> None:
    w = full(10.0)
    layer = wg.sum(abs(w))
    trained(layer, 10)
    assert layer.predict().run() < 1.0
    assert total(w) < 1.0


def test_d190_matmul() -> None:
    w = full(10.0)
    layer = wg.sum(wg.matmul(np.ones((4, 4)), w))
    trained(layer, 10)
    assert layer.predict().run() == -1920.0
    assert total(w) == -480.0


def test_d192_reshape_gives_the_loss_before_the_update() -> None:
    w = counted(2, 3, 3, 3)
    assert trained(wg.sum(wg.reshape(w, (2, 27))), 1) == 1485.0
    assert total(w) == 1485.0 - 54.0


def test_d194_multiply_in_four_dimensions() -> None:
    data = np.arange(24.0).reshape(1, 2, 3, 4)
    w = SGD(learning_rate=1.0).array_weight(data)
    assert trained(wg.mean(wg.multiply(w, data)), 1) == pytest.approx(180.1667, abs=1e-4)


def test_d195_permute_dims_gives_the_loss_before_the_update() -> None:
    w = counted(2, 3, 9)
    assert trained(wg.sum(wg.permute_dims(w, (0, 2, 1))), 1) == 1485.0


@pytest.mark.parametrize(("shape", "axis"), [((6, 9), 0), ((2, 3, 3, 3), (0, 1))])
def test_d197_sums_along_axes(shape: tuple[int, ...], axis: int | tuple[int, ...]) -> None:
    w = counted(*shape)
    layer = wg.sum(wg.sum(w, axis=axis))
    assert trained(layer, 54) < 1485.0
    assert layer.predict().run() < 1.0


@pytest.mark.slow  # 10,000 trainings each: about 1 s
@pytest.mark.parametrize(
    "loss",
    [lambda w: wg.reshape(w, (2, 27)), lambda w: wg.permute_dims(w, (0, 2, 3, 1))],
    ids=["reshape", "permute_dims"],
)
def test_d198_many_trainings(loss: Callable[[Weight], Layer]) -> None:
    w = counted(2, 3, 3, 3, rate=0.01)
    layer = wg.sum(loss(w))
    trained(layer, 10_000)
    assert layer.predict().run() < 1.0


def test_d199_a_weight_twice() -> None:
    w = SGD(learning_rate=1.0).array_weight(np.array([[1.0, 2.0], [3.0, 4.0]], np.float64))
    layer = w + w
    assert layer.predict().run().tolist() == [[2.0, 4.0], [6.0, 8.0]]
    wg.sum(layer).train().run()
    assert w.data.tolist() == [[-1.0, 0.0], [1.0, 2.0]]


def test_float32_stays_float32() -> None:
    w = SGD(learning_rate=1.0).array_weight(np.ones((4, 4), np.float32))
    loss = wg.mean(wg.square(w * 2.0 + 1.0) / 3.0)
    result = loss.train().run()
    assert result.dtype == w.data.dtype == np.float32


@pytest.mark.parametrize("rate", [np.float64(0.5), 0.5], ids=["a rate of numpy", "a rate of Python"])
@pytest.mark.parametrize("shown", [False, True], ids=["in place", "beside what was shown"])
def test_a_weight_keeps_its_dtype_whatever_the_rates(rate: float, shown: bool) -> None:
    w = SGD(learning_rate=rate).array_weight(np.ones((4, 4), np.float32))
    for _ in range(2):
        before = w.data if shown else None
        wg.sum(w * 2.0).train().run()
        assert before is None or before.dtype == np.float32
    assert w.data.dtype == np.float32
    assert w.data.tolist() == np.full((4, 4), -1.0).tolist()
