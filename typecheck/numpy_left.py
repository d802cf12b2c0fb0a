"""numpy on the left, numpy around, and Python's protocols on layers (T31 to T33, T35)."""
# ruff: noqa: B015 -- cases are read by the type checker and never run

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

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
    a64 * x  # E: dtypes float64 and float32 do not mix|matches argument type "ArrayLayer
    a32 * y  # E: dtypes float32 and float64 do not mix|matches argument type "ArrayLayer
    np.float32(1) > x  # E: matches argument type "ArrayLayer\[.*"
    np.dot(a32, x)  # E[call-overload]: matches argument types "ndarray\[.*", "ArrayLayer\[.*"
    np.exp(x)  # E[call-overload]: matches argument type "ArrayLayer\[.*"


def case_layers_have_no_order(x: wg.ArrayLayer, d: wg.DoubleLayer) -> None:  # T35
    x > 0  # E[operator]: types for < \("int" and "ArrayLayer\[Any, floating\[_32Bit\], Literal\['cpu'\]\]"\)
    d > 0.0  # E[operator]: types for < \("float" and "DoubleLayer"\)
    d <= d  # E[operator]: Unsupported left operand type for <=
    d == 1.0  # E[comparison-overlap]: "DoubleLayer"


def case_layers_have_no_truth(x: wg.ArrayLayer, d: wg.DoubleLayer) -> None:  # T35
    if x:  # E[truthy-bool]: "x"
        return
    if not d:  # E[truthy-bool]: "d"
        return
    while d:  # E[truthy-bool]: "d"
        break


def case_layers_are_no_values(x: wg.ArrayLayer, d: wg.DoubleLayer) -> None:  # T35
    len(x)  # E[arg-type]: incompatible type "ArrayLayer\[Any, floating\[_32Bit\], Literal\['cpu'\]\]"
    iter(x)  # a limit: `__getitem__` is enough for mypy; refused at run time
    for _ in x:  # E[attr-defined]: has no attribute "__iter__"
        pass
    list(x)  # E[call-overload]: matches argument type "ArrayLayer\[.*"
    1.0 in x  # E[operator]: Unsupported right operand type for in
    float(d)  # E[arg-type]: incompatible type "DoubleLayer"
    int(d)  # E[call-overload]: matches argument type "DoubleLayer"
    max(d, d)  # E[call-overload]: matches argument types "DoubleLayer", "DoubleLayer"
    sorted([d, d])  # E[type-var]: cannot be "DoubleLayer"
