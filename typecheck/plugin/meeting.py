"""Operands that meet: their dtypes and devices, arrays of unknown elements, and shapes that are one variable."""

from __future__ import annotations

from typing import Any, TypeVar, assert_type

import cupy
import numpy as np
import numpy.typing as npt
from given import F32, row, settings, x

import wengert as wg

S = TypeVar("S", bound=tuple[int, ...])
R = TypeVar("R", bound=tuple[int, ...])
T = TypeVar("T", bound=np.floating[Any])
Wide = wg.ArrayLayer[Any, np.float64]
OnGpu = wg.ArrayLayer[Any, np.float32, wg.Gpu]
GpuArray = cupy.ndarray[Any, np.dtype[np.float32]]
Unknown = npt.NDArray[Any]
double, single = settings.double_weight(1.0), settings.float_weight(1.0)


def case_dtypes_by_operators(wide: Wide, wide_array: npt.NDArray[np.float64]) -> None:  # T17, T26
    x * wide  # E[dtype]: ^multiply: dtypes float32 and float64 do not mix; make them one, as in x.astype
    wide @ x  # E[dtype]: ^matmul: dtypes float64 and float32 do not mix;
    x + wide_array  # E[dtype]: ^add: dtypes float32 and float64 do not mix;
    double - x  # E[dtype]: ^subtract: dtypes float64 and float32 do not mix;
    x / double  # E[dtype]: ^divide: dtypes float32 and float64 do not mix;
    double + single  # E[dtype]: ^add: dtypes float64 and float32 do not mix;
    single * wide_array  # E[dtype]: ^multiply: dtypes float32 and float64 do not mix;
    x * (x * wide)  # E[dtype]: ^multiply: dtypes float32 and float64 do not mix;
    x * wide  # type: ignore[dtype] # the mistake that this case is about


def case_dtypes_by_functions(wide: Wide) -> None:  # T17, T26
    wg.maximum(x, wide)  # E[dtype]: ^maximum: dtypes float32 and float64 do not mix;
    wg.multiply(double, x)  # E[dtype]: ^multiply: dtypes float64 and float32 do not mix;
    wg.add(double, single)  # E[dtype]: ^add: dtypes float64 and float32 do not mix;
    wg.greater(x, wide)  # E[dtype]: ^greater: dtypes float32 and float64 do not mix;
    wg.where(wg.greater(x, 0.0), x, wide)  # E[dtype]: ^where: dtypes float32 and float64 do not mix;


def two(a: wg.ArrayExpression, b: wg.ArrayExpression[Any, np.float64]) -> None:
    """A function of two dtypes is nobody's mistake."""


def case_dtypes_that_a_function_states(wide: Wide) -> None:  # T26
    two(x, wide)
    two(wide, x)  # E[dtype]: ^two: dtypes float32 and float64 do not mix;


def case_devices(far: OnGpu, array: F32, far_array: GpuArray) -> None:  # T38
    x * far  # E[device]: ^multiply: devices cpu and gpu do not mix; copy one operand to the other device first$
    far + array  # E[device]: ^add: devices gpu and cpu do not mix;
    x @ far_array  # E[device]: ^matmul: devices cpu and gpu do not mix;
    wg.add(x, far)  # E[device]: ^add: devices cpu and gpu do not mix;
    wg.where(wg.greater(far, 0.0), x, 1.0)  # E[device]: ^where: devices gpu and cpu do not mix;
    x * far  # type: ignore[device] # the mistake that this case is about
    assert_type(far * far_array, OnGpu)
    assert_type(far * single, OnGpu)
    assert_type(wg.where(wg.greater(far, 0.0), far, 1.0), OnGpu)


def case_other_reasons_are_mypys(far: OnGpu, wide: Wide) -> None:  # T46
    wg.train(x)  # E[shape]: ^train: a loss is a scalar
    wg.add(x, "far")  # E[call-overload]: matches argument types "ArrayLayer\[.*", "str"


def case_unknown_elements_by_operators(unknown: Unknown, objects: npt.NDArray[np.object_]) -> None:  # T34
    x * unknown  # E[any-array]: ^an array of unknown element type cannot be checked; state it, as in numpy.array
    unknown * x  # E[any-array]: as in numpy.array\(x, numpy.float32\)$
    unknown @ x  # E[any-array]: an array of
    double * unknown  # E[any-array]: an array of
    unknown - single  # E[any-array]: an array of
    objects * x  # E[not-differentiable]: floating-point
    unknown *= x  # E[any-array]: an array of
    unknown * x  # type: ignore[any-array] # the mistake that this case is about
    assert_type(unknown @ unknown, Unknown)


def case_a_shape_variable_stays(
    a: wg.ArrayLayer[S], b: wg.ArrayWeight[S], other: wg.ArrayLayer[R]
) -> None:  # T40
    assert_type(a + a, wg.ArrayLayer[S])
    assert_type(a - b, wg.ArrayLayer[S])
    assert_type(1.0 / a, wg.ArrayLayer[S])
    assert_type(single * a, wg.ArrayLayer[S])
    assert_type(wg.sum(a) * a, wg.ArrayLayer[S])
    assert_type(wg.multiply(a, b), wg.ArrayLayer[S])
    assert_type(wg.greater(a, b), wg.Mask[S])
    assert_type(wg.where(wg.greater(a, 0.0), a, 0.0), wg.ArrayLayer[S])
    assert_type(a + row, wg.ArrayLayer)
    assert_type(a + other, wg.ArrayLayer)


def case_an_activation_of_every_shape(a: wg.ArrayLayer[S, T]) -> wg.ArrayLayer[S, T]:  # T40
    return a / (1.0 + wg.exp(-a))
