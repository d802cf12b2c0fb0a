"""Where cupy's types are missing, what is no expression is refused all the same (T39)."""

from __future__ import annotations

from typing import Any, Literal, assert_type

import numpy as np
import numpy.typing as npt

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)
double, single = settings.double_weight(1.0), settings.float_weight(1.0)
data: npt.NDArray[np.float32] = np.ones((2, 3), np.float32)
wide: npt.NDArray[np.float64] = np.ones((2, 3), np.float64)
x, w = wg.literal(data, 2, 3), settings.array_weight(data, 3, 4)


def case_the_device_of_a_gpu_is_unknown(device: wg.Gpu) -> None:  # T39
    assert_type(device, Any)


def case_texts_are_refused_by_operations() -> None:  # T39
    wg.exp("1")  # E[call-overload]: "str"
    wg.multiply(x, "1")  # E: "str"
    wg.matmul(x, "1")  # E: "str"
    wg.sum("1")  # E: "str"
    wg.lift("1")  # E: "str"


def case_texts_are_refused_by_operators() -> None:  # T39
    x * "1"  # E[operator]: "str"
    double + "1"  # E[operator]: "str"
    single / "1"  # E[operator]: "str"


def case_other_values_are_refused() -> None:  # T39
    wg.exp([1.0])  # E: "list\[float\]"
    wg.matmul(x, None)  # E: "None"
    wg.literal([1.0], 1)  # E: "list\[float\]"
    settings.array_weight("1")  # E: "str"
    wg.train("1")  # E: "str"


def case_types_are_as_with_the_stubs() -> None:  # T39
    assert_type(x, wg.ArrayLayer[tuple[Literal[2], Literal[3]], np.float32, wg.Cpu])
    assert_type(x @ w, wg.ArrayLayer[tuple[Literal[2], Literal[4]], np.float32, wg.Cpu])
    assert_type(wg.exp(data), wg.ArrayLayer[Any, np.float32, wg.Cpu])
    assert_type(wg.exp(2.0), wg.DoubleLayer)
    assert_type(double * 2.0, wg.DoubleLayer)


def case_dtypes_and_shapes_are_as_with_the_stubs() -> None:  # T39
    wg.multiply(x, wide)  # E[dtype]: ^multiply: dtypes float32 and float64 do not mix;
    x * wide  # E[dtype]: dtypes float32 and
    wg.multiply(double, single)  # E[dtype]: ^multiply: dtypes float64 and float32 do not mix;
    w @ x  # E[shape]: inner dimensions 4 and 2 differ
