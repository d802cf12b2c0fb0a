"""The element types of arrays: unknown ones, integers, and mixed ones (T29, T30, T34, T67)."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
from given import F32, L2, L3, settings, w, x
from registered import of_arrays

import wengert as wg

Wide = npt.NDArray[np.float64]
Unknown = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]


def case_unknown_elements(unknown: Unknown) -> None:  # T67
    wg.exp(unknown)  # E[any-array]: ^an array of unknown element type cannot be checked; state it, as in
    of_arrays(unknown)  # E[any-array]: as in numpy.array\(x, numpy.float32\)$
    wg.matmul(x, np.array([1.0, 2.0]))  # E[any-array]: unknown element type
    wg.literal(unknown, 2, 3)  # E[any-array]: an array of
    settings.array_weight(unknown)  # E[any-array]: an array of


def case_unknown_elements_ignored(unknown: Unknown) -> None:  # T67
    of_arrays(unknown)  # type: ignore[any-array] # the mistake that this case is about


def case_integers(integers: Integers) -> None:  # T30
    wg.exp(integers)  # E[not-differentiable]: only arrays of floating-point elements are; write
    wg.exp(np.zeros(3, np.int64))  # E[not-differentiable]: floating-point
    wg.exp(np.zeros(3, np.bool))  # E[not-differentiable]: floating-point
    wg.exp(np.zeros(3, np.complex128))  # E[not-differentiable]: floating-point


def case_another_dtype_in_place() -> None:  # T29
    x * np.zeros(3, np.float64)  # E[dtype]: ^multiply: dtypes float32 and float64 do not mix;
    np.zeros(3, np.float64) * x  # E[dtype]: ^multiply: dtypes float64 and float32 do not mix;
    w @ np.zeros(3, np.float64)  # E[dtype]: ^matmul: dtypes float32 and float64 do not mix;


def case_another_dtype_in_a_variable(wide: Wide) -> None:  # T26
    x * wide  # E[dtype]: dtypes float32 and
    wide * x  # E[dtype]: ^multiply: dtypes float64 and float32 do not mix;
    wg.multiply(x, wide)  # E[dtype]: ^multiply: dtypes float32 and float64 do not mix;


def case_the_same_dtype_in_place(single: F32, wide: Wide) -> None:  # T29
    assert_type(x * np.zeros(3, np.float32), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(single * x, wg.ArrayLayer)
    assert_type(wg.exp(wide), wg.ArrayLayer[Any, np.float64])
