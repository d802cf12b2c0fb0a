"""Buffers and what commits them: shapes, element types, and what takes no weight (T77, S15)."""

from __future__ import annotations

from typing import Any, Literal, assert_type

import numpy as np
import numpy.typing as npt

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)
data: npt.NDArray[np.float32] = np.ones(4, np.float32)
F32 = np.ndarray[Any, np.dtype[np.float32]]


def case_making_and_reading(double: npt.NDArray[np.float64]) -> None:
    assert_type(settings.buffer(data), wg.Buffer[Any, np.float32])
    assert_type(settings.buffer(double, name="seen"), wg.Buffer[Any, np.float64])
    assert_type(settings.buffer(data).data, F32)
    settings.buffer(3.0)  # E[arg-type]: incompatible type "float"
    settings.buffer(data).data = data  # E


def case_updates(
    seen: wg.Buffer[Any, np.float32],
    x: wg.ArrayLayer[Any, np.float32],
    double: wg.ArrayLayer[Any, np.float64],
    loss: wg.ArrayLayer[tuple[()], np.float32],
    weight: wg.ArrayWeight[Any, np.float32],
    number: wg.DoubleWeight,
    small: wg.FloatLayer,
    count: wg.Buffer[tuple[()], np.float64],
) -> None:
    assert_type(wg.update(seen, x), wg.Do[None])
    assert_type(wg.update(seen, data, rate=0.1), wg.Do[None])
    assert_type(wg.with_update(loss, seen, weight), wg.ArrayLayer[tuple[()], np.float32])
    assert_type(wg.with_update(double, seen, x, rate=0.1), wg.ArrayLayer[Any, np.float64])
    assert_type(x - seen, wg.ArrayLayer[Any, np.float32])
    assert_type(wg.assign({seen: data}), wg.Do[None])
    assert_type(wg.with_update(number, count, number), wg.DoubleLayer)
    assert_type(wg.with_update(number, seen, x, rate=0.1), wg.DoubleLayer)
    assert_type(wg.with_update(small, seen, x), wg.FloatLayer)
    assert_type(wg.with_update(x, count, 3.0), wg.ArrayLayer[Any, np.float32])
    assert_type(wg.update(count, number * 2.0), wg.Do[None])
    wg.update(seen, number)  # E
    wg.update(weight, x)  # E[arg-type]: incompatible type "ArrayWeight
    wg.update(seen, double)  # E: incompatible type "ArrayLayer\[Any, float64|Cannot infer
    wg.update(seen, x, 0.1)  # E: Too many positional arguments
    wg.with_update(x, weight, x)  # E[call-overload]: matches argument types
    wg.gradients(loss, (seen,))  # E


def case_models(norm: nn.BatchNorm[Literal[8]], x: wg.ArrayLayer[Any, np.float32]) -> None:
    assert_type(norm.mean, wg.Buffer[tuple[Literal[8]]])
    assert_type(norm.scale, wg.ArrayWeight[tuple[Literal[8]]])
    assert_type(nn.buffers(norm), dict[str, wg.Buffer[Any, Any, Any]])
    norm(x, seed=1)
    norm(x, seed="1")  # E[arg-type]: incompatible type "str"
    nn.BatchNorm.make(settings, 8).rate = 0.5  # E
