"""Element types: which operations change them, which keep them, and what does not mix (T25, T26, T30, T37)."""

from __future__ import annotations

from typing import Any, Literal, assert_type

import numpy as np
import numpy.typing as npt

import wengert as wg
from wengert.plugins import SGD

Shape23 = tuple[Literal[2], Literal[3]]
F32 = wg.ArrayLayer[Any, np.float32, wg.Cpu]
F64 = wg.ArrayLayer[Any, np.float64, wg.Cpu]
settings = SGD(learning_rate=0.1)
double, single = settings.double_weight(1.0), settings.float_weight(1.0)
a32: npt.NDArray[np.float32] = np.ones((2, 3), np.float32)
a64: npt.NDArray[np.float64] = np.ones((2, 3), np.float64)


def case_astype_of_arrays(x: wg.ArrayLayer[Shape23], y: wg.ArrayWeight[Shape23, np.float64]) -> None:  # T37
    assert_type(wg.astype(x, np.float64), wg.ArrayLayer[Shape23, np.float64])
    assert_type(wg.astype(y, np.float32), wg.ArrayLayer[Shape23, np.float32])
    assert_type(wg.astype(x, np.float32), wg.ArrayLayer[Shape23, np.float32])
    assert_type(wg.astype(a64, np.float32), F32)


def case_astype_of_scalars() -> None:  # T37
    assert_type(wg.astype(double, np.float32), wg.FloatLayer)
    assert_type(wg.astype(single, np.float64), wg.DoubleLayer)
    assert_type(wg.astype(2.0, np.float32), wg.FloatLayer)


def case_astype_by_the_dtype_of_another(
    x: wg.ArrayLayer[Shape23], y: wg.ArrayLayer[Any, np.float64]
) -> None:  # T37
    assert_type(wg.astype(x, y.dtype), wg.ArrayLayer[Shape23, np.float64])
    assert_type(wg.astype(y, x.dtype) + x, F32)


def case_astype_to_what_is_no_floating_type(x: wg.ArrayLayer[Shape23]) -> None:  # T37
    wg.astype(x, np.int64)  # E[type-var]: cannot be "signedinteger\[_64Bit\]"
    wg.astype(x, np.bool)  # E[type-var]: cannot be ".*bool
    wg.astype(x, int)  # E[type-var]: cannot be "int"
    wg.astype(x, "float64")  # E[call-overload]: matches argument types "ArrayLayer\[.*", "str"
    wg.astype(double, np.int64)  # E: incompatible type "DoubleWeight"
    wg.astype("1", np.float64)  # E[call-overload]: matches argument types "str", "type\[float64\]"


def case_astype_makes_two_dtypes_one(
    x: wg.ArrayLayer[Shape23], y: wg.ArrayLayer[Any, np.float64]
) -> None:  # T37
    assert_type(wg.add(wg.astype(x, np.float64), y), F64)
    wg.add(wg.astype(x, np.float64), a32)  # E: dtypes float64 and float32 do not mix|type parameter
    wg.add(wg.astype(y, np.float32), y)  # E: dtypes float32 and float64 do not mix|type parameter


def case_variables_of_two_dtypes(
    x: wg.ArrayLayer[Shape23], y: wg.ArrayLayer[Shape23, np.float64]
) -> None:  # T26
    wg.add(x, y)  # E: dtypes float32 and float64 do not mix|type parameter
    wg.matmul(y, x)  # E: dtypes float64 and float32 do not mix|type parameter "T" of "matmul"
    wg.concat([x, y])  # E[list-item]: incompatible type "ArrayLayer\[.*"
    wg.where(wg.greater(x, 0.0), x, y)  # E: dtypes float32 and float64 do not mix|Cannot infer value
    wg.maximum(a32, a64)  # E: dtypes float32 and float64 do not mix|cannot be "object"
    wg.tensordot(x, y)  # E: dtypes float32 and float64 do not mix|type parameter "T" of "tensordot"


def case_scalars_and_arrays_of_two_dtypes(x: wg.ArrayLayer, y: wg.ArrayLayer[Any, np.float64]) -> None:  # T26
    wg.multiply(double, x)  # E: dtypes float64 and float32 do not mix|incompatible type "DoubleWeight"
    wg.multiply(y, single)  # E: dtypes float64 and float32 do not mix|type parameter
    wg.add(np.float32(1), y)  # E[misc]: type parameter "T" of "__call__" of "Broadcasting"
    wg.where(wg.greater(x, 0.0), x, double)  # E: dtypes float32 and float64 do not mix|Cannot infer value


def case_numbers_take_the_dtype_of_the_other(
    x: wg.ArrayLayer, y: wg.ArrayLayer[Any, np.float64]
) -> None:  # T25
    assert_type(wg.multiply(2, x), F32)
    assert_type(wg.maximum(y, 0), F64)
    assert_type(wg.pow(x, 0.5), F32)
    assert_type(wg.clip(y, 0.0, 1.0).dtype, np.dtype[np.float64])
    assert_type(wg.add(single, 1), wg.FloatLayer)


def case_elementary_operations_by_column() -> None:  # T15, T18
    assert_type(wg.sin(1), wg.DoubleLayer)
    assert_type(wg.erf(np.float32(1)), wg.FloatLayer)
    assert_type(wg.softplus(double), wg.DoubleLayer)
    assert_type(wg.log1p(single), wg.FloatLayer)
    assert_type(wg.cos(a32), F32)
    assert_type(wg.silu(a64), F64)


def case_reductions_by_column(y: wg.ArrayLayer[Any, np.float64]) -> None:  # T15
    assert_type(wg.sum(double), wg.DoubleLayer)
    assert_type(wg.mean(single), wg.FloatLayer)
    assert_type(wg.var(y), wg.ArrayLayer[tuple[()], np.float64])
    assert_type(wg.logsumexp(y, axis=0), F64)
    assert_type(wg.prod(a32), wg.ArrayLayer[tuple[()]])


def case_arrays_of_integers(integers: npt.NDArray[np.int64], flags: npt.NDArray[np.bool]) -> None:  # T30
    wg.exp(integers)  # E: signedinteger
    wg.sum(flags)  # E: bool
    wg.lift(integers)  # E: only arrays of floating-point|cannot be "signedinteger\[_64Bit\]"
    wg.literal(integers)  # E: signedinteger
    settings.array_weight(flags)  # E: bool


def case_arrays_of_integers_are_indices(
    x: wg.ArrayLayer[Shape23], places: npt.NDArray[np.int64]
) -> None:  # T30
    assert_type(wg.take(x, places).dtype, np.dtype[np.float32])
    assert_type(wg.cross_entropy(x, places), wg.ArrayLayer[tuple[()]])
    wg.take(x, a32)  # E: indices are integers|expected "IntegerArray
    wg.cross_entropy(x, a32)  # E: labels are integers|expected "IntegerArray


def case_operators_with_integers(x: wg.ArrayLayer, integers: npt.NDArray[np.int64]) -> None:  # T30
    x * integers  # E: "ndarray
    integers * x  # E[operator]: matches argument type "ArrayLayer\[.*"
    x @ integers  # E: "ndarray
