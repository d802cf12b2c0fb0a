"""Python's operators on every pair of operands: which column results, and which pairs are refused (D92)."""
# ruff: noqa: RUF005 -- cases are read by the type checker and never run

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import wengert as wg
from wengert.plugins import SGD

F32 = wg.ArrayLayer[Any, np.float32, wg.Cpu]
F64 = wg.ArrayLayer[Any, np.float64, wg.Cpu]

settings = SGD(learning_rate=0.1)
number = 2.0
double_weight, double_layer = settings.double_weight(1.0), wg.lift(1.0)
float32 = np.float32(2.0)
float_weight, float_layer = settings.float_weight(1.0), wg.lift(np.float32(1.0))
a32: np.ndarray[Any, np.dtype[np.float32]] = np.ones(3, np.float32)
a64: np.ndarray[Any, np.dtype[np.float64]] = np.ones(3, np.float64)
w32, w64 = settings.array_weight(a32), settings.array_weight(a64)
l32, l64 = wg.lift(a32), wg.lift(a64)


def case_the_operands() -> None:
    assert_type(double_weight, wg.DoubleWeight)
    assert_type(double_layer, wg.DoubleLayer)
    assert_type(float_weight, wg.FloatWeight)
    assert_type(float_layer, wg.FloatLayer)
    assert_type(w32, wg.ArrayWeight[Any, np.float32, wg.Cpu])
    assert_type(w64, wg.ArrayWeight[Any, np.float64, wg.Cpu])
    assert_type(l32, F32)
    assert_type(l64, F64)


def case_doubles() -> None:
    assert_type(double_weight + double_weight, wg.DoubleLayer)
    assert_type(double_weight - double_layer, wg.DoubleLayer)
    assert_type(double_layer * double_weight, wg.DoubleLayer)
    assert_type(double_layer / double_layer, wg.DoubleLayer)
    assert_type(double_layer**double_weight, wg.DoubleLayer)
    assert_type(double_weight + number, wg.DoubleLayer)
    assert_type(number - double_weight, wg.DoubleLayer)
    assert_type(double_layer * 3, wg.DoubleLayer)
    assert_type(3 / double_layer, wg.DoubleLayer)
    assert_type(2**double_layer, wg.DoubleLayer)
    assert_type(double_layer % double_weight, wg.DoubleLayer)
    assert_type(2 % double_layer, wg.DoubleLayer)
    assert_type(-double_weight, wg.DoubleLayer)
    assert_type(abs(double_layer), wg.DoubleLayer)


def case_floats() -> None:
    assert_type(float_weight + float_weight, wg.FloatLayer)
    assert_type(float_weight - float_layer, wg.FloatLayer)
    assert_type(float_layer * float32, wg.FloatLayer)
    assert_type(float32 / float_layer, wg.FloatLayer)
    assert_type(float_layer**float_weight, wg.FloatLayer)
    assert_type(float_weight + number, wg.FloatLayer)
    assert_type(number - float_weight, wg.FloatLayer)
    assert_type(float_layer % number, wg.FloatLayer)
    assert_type(w32 % 2.0, F32)
    assert_type(float32 % l32, F32)
    w32 % l64  # E: dtypes float32 and float64 do not mix|operand types
    assert_type(float_layer * 3, wg.FloatLayer)
    assert_type(-float_weight, wg.FloatLayer)
    assert_type(abs(float_layer), wg.FloatLayer)


def case_arrays() -> None:
    assert_type(w32 + l32, F32)
    assert_type(l32 - w32, F32)
    assert_type(l64 * w64, F64)
    assert_type(w64 / l64, F64)
    assert_type(l32**l32, F32)
    assert_type(l32 @ w32, F32)
    assert_type(-w64, F64)
    assert_type(abs(l32), F32)
    assert_type(l32[0], F32)
    assert_type(l32[1:, None], F32)


def case_arrays_with_numpy_on_either_side() -> None:
    assert_type(l32 + a32, F32)
    assert_type(a32 + l32, F32)
    assert_type(a32 - w32, F32)
    assert_type(a64 * l64, F64)
    assert_type(a64 / w64, F64)
    assert_type(a32 @ w32, F32)
    assert_type(w64 @ a64, F64)
    assert_type(a32**l32, F32)


def case_arrays_with_scalars_on_either_side() -> None:
    assert_type(l32 * number, F32)
    assert_type(number * l32, F32)
    assert_type(2 - w64, F64)
    assert_type(w64**2, F64)
    assert_type(l32 * float32, F32)
    assert_type(float32 * l32, F32)
    assert_type(l32 * float_weight, F32)
    assert_type(float_layer * w32, F32)
    assert_type(l64 + double_weight, F64)
    assert_type(double_layer - w64, F64)
    assert_type(float_weight * a32, F32)
    assert_type(a32 * float_weight, F32)
    assert_type(double_weight / a64, F64)
    assert_type(a64 / double_weight, F64)
    assert_type(np.float64(2.0) * l64, F64)
    assert_type(np.float64(2.0) * double_layer, wg.DoubleLayer)


def case_columns_do_not_mix() -> None:
    double_weight + float_weight  # E: dtypes float64 and float32 do not mix|operand types
    float_layer * double_layer  # E: dtypes float32 and float64 do not mix|operand types
    double_layer - float32  # E: float(32|ing\[_32Bit\])
    l32 + l64  # E: dtypes float32 and float64 do not mix|operand types
    l64 * a32  # E: float(32|ing\[_32Bit\])
    a32 - l64  # E: dtypes float32 and float64 do not mix|matches argument type "ArrayLayer
    w32 @ w64  # E: dtypes float32 and float64 do not mix|operand types
    l32 * double_weight  # E: dtypes float32 and float64 do not mix|operand types
    float_weight * l64  # E: dtypes float32 and float64 do not mix|operand types
    double_weight * a32  # E: float(32|ing\[_32Bit\])
    a64 * float_layer  # E[operator]: matches argument type "FloatLayer"


def case_what_is_no_number_is_no_operand() -> None:
    double_weight + "1"  # E[operator]: matches argument type "str"
    l32 * None  # E[operator]: types for \* \("ArrayLayer\[.*" and "None"\)
    l32 + [1.0, 2.0]  # E[operator]: types for \+ \("ArrayLayer\[.*" and "list\[float\]"\)
    float_weight * 1j  # E[operator]: matches argument type "complex"
    l32 @ 2.0  # E[operator]: types for @ \("ArrayLayer\[.*" and "float"\)
    double_weight @ double_weight  # E[operator]: Unsupported left operand type for @
