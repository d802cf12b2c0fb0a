"""numpy on the left, numpy around, and Python's protocols on layers (T28, T31 to T35)."""
# ruff: noqa: B015 -- cases are read by the type checker and never run

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import wengert as wg

F32 = wg.ArrayLayer[Any, np.float32, wg.Cpu]
F64 = wg.ArrayLayer[Any, np.float64, wg.Cpu]
a32: np.ndarray[Any, np.dtype[np.float32]] = np.ones((2, 2), np.float32)
a64: np.ndarray[Any, np.dtype[np.float64]] = np.ones((2, 2), np.float64)


def case_arrays_on_the_left(x: wg.ArrayLayer, w: wg.ArrayWeight) -> None:  # T31
    assert_type(a32 + x, F32)
    assert_type(a32 - x, F32)
    assert_type(a32 * w, F32)
    assert_type(a32 / w, F32)
    assert_type(a32 @ x, F32)
    assert_type(a32**x, F32)


def case_scalars_on_the_left(
    x: wg.ArrayLayer, y: wg.ArrayLayer[Any, np.float64], f: wg.FloatLayer
) -> None:  # T32
    assert_type(2 * x, F32)
    assert_type(2.0 - x, F32)
    assert_type(np.float32(2) / x, F32)
    assert_type(np.float64(2) * y, F64)
    assert_type(np.float32(2) ** f, wg.FloatLayer)


def case_numpy_does_not_compute_with_layers(
    x: wg.ArrayLayer, y: wg.ArrayLayer[Any, np.float64]
) -> None:  # T33
    a64 * x  # E[operator]
    a32 * y  # E[operator]
    np.float32(1) > x  # E[operator]
    np.dot(a32, x)  # E
    np.exp(x)  # E


def case_a_literal_of_another_dtype_in_place(x: wg.ArrayLayer) -> None:  # T28: a limit without the plugin
    assert_type(x * np.zeros(3, np.float64), F32)


def case_an_array_of_unknown_dtype(x: wg.ArrayLayer, unknown: npt.NDArray[Any]) -> None:  # T34: a limit
    assert_type(unknown * x, Any)


def case_layers_have_no_order(x: wg.ArrayLayer, d: wg.DoubleLayer) -> None:  # T35
    x > 0  # E[operator]
    d > 0.0  # E[operator]
    d <= d  # E[operator]
    d == 1.0  # E[comparison-overlap]


def case_layers_have_no_truth(x: wg.ArrayLayer, d: wg.DoubleLayer) -> None:  # T35
    if x:  # E[truthy-bool]
        return
    if not d:  # E[truthy-bool]
        return
    while d:  # E[truthy-bool]
        break


def case_layers_are_no_values(x: wg.ArrayLayer, d: wg.DoubleLayer) -> None:  # T35
    len(x)  # E[arg-type]
    iter(x)  # a limit: `__getitem__` is enough for mypy; refused at run time
    for _ in x:  # E
        pass
    list(x)  # E
    1.0 in x  # E
    float(d)  # E
    int(d)  # E
    max(d, d)  # E
    sorted([d, d])  # E
