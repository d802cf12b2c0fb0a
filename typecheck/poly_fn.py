"""A polymorphic function: every mix of literal, weight and layer has one type (D107, T17, T23 to T30)."""

from __future__ import annotations

from typing import Any, TypeVar, assert_type

import numpy as np

import wengert as wg
from wengert.plugins import SGD

N = TypeVar("N", bound=np.floating[Any])
F32 = wg.ArrayLayer[Any, np.float32, wg.Cpu]
F64 = wg.ArrayLayer[Any, np.float64, wg.Cpu]

settings = SGD(learning_rate=0.1)
literal, weight, layer = 2.0, settings.double_weight(2.0), wg.lift(2.0)
float_literal, float_weight = np.float32(2.0), settings.float_weight(2.0)
a32: np.ndarray[Any, np.dtype[np.float32]] = np.ones(3, np.float32)
a64: np.ndarray[Any, np.dtype[np.float64]] = np.ones(3, np.float64)
w32, l32 = settings.array_weight(a32), wg.lift(a32)
w64, l64 = settings.array_weight(a64), wg.lift(a64)


def poly_fn(
    a: wg.DoubleExpression, b: wg.DoubleExpression, c: wg.DoubleExpression, d: wg.DoubleExpression
) -> wg.DoubleLayer:
    return wg.add(wg.multiply(a, b), wg.multiply(c, d))


def poly_array(
    a: wg.ArrayExpression[Any, N],
    b: wg.ArrayExpression[Any, N],
    c: wg.ArrayExpression[Any, N],
    d: wg.ArrayExpression[Any, N],
) -> wg.ArrayLayer[Any, N]:
    return wg.add(wg.multiply(a, b), wg.multiply(c, d))


def case_81_mixes_of_doubles() -> None:  # T23
    assert_type(poly_fn(literal, literal, literal, literal), wg.DoubleLayer)
    assert_type(poly_fn(literal, literal, literal, weight), wg.DoubleLayer)
    assert_type(poly_fn(literal, literal, literal, layer), wg.DoubleLayer)
    assert_type(poly_fn(literal, literal, weight, literal), wg.DoubleLayer)
    assert_type(poly_fn(literal, literal, weight, weight), wg.DoubleLayer)
    assert_type(poly_fn(literal, literal, weight, layer), wg.DoubleLayer)
    assert_type(poly_fn(literal, literal, layer, literal), wg.DoubleLayer)
    assert_type(poly_fn(literal, literal, layer, weight), wg.DoubleLayer)
    assert_type(poly_fn(literal, literal, layer, layer), wg.DoubleLayer)
    assert_type(poly_fn(literal, weight, literal, literal), wg.DoubleLayer)
    assert_type(poly_fn(literal, weight, literal, weight), wg.DoubleLayer)
    assert_type(poly_fn(literal, weight, literal, layer), wg.DoubleLayer)
    assert_type(poly_fn(literal, weight, weight, literal), wg.DoubleLayer)
    assert_type(poly_fn(literal, weight, weight, weight), wg.DoubleLayer)
    assert_type(poly_fn(literal, weight, weight, layer), wg.DoubleLayer)
    assert_type(poly_fn(literal, weight, layer, literal), wg.DoubleLayer)
    assert_type(poly_fn(literal, weight, layer, weight), wg.DoubleLayer)
    assert_type(poly_fn(literal, weight, layer, layer), wg.DoubleLayer)
    assert_type(poly_fn(literal, layer, literal, literal), wg.DoubleLayer)
    assert_type(poly_fn(literal, layer, literal, weight), wg.DoubleLayer)
    assert_type(poly_fn(literal, layer, literal, layer), wg.DoubleLayer)
    assert_type(poly_fn(literal, layer, weight, literal), wg.DoubleLayer)
    assert_type(poly_fn(literal, layer, weight, weight), wg.DoubleLayer)
    assert_type(poly_fn(literal, layer, weight, layer), wg.DoubleLayer)
    assert_type(poly_fn(literal, layer, layer, literal), wg.DoubleLayer)
    assert_type(poly_fn(literal, layer, layer, weight), wg.DoubleLayer)
    assert_type(poly_fn(literal, layer, layer, layer), wg.DoubleLayer)
    assert_type(poly_fn(weight, literal, literal, literal), wg.DoubleLayer)
    assert_type(poly_fn(weight, literal, literal, weight), wg.DoubleLayer)
    assert_type(poly_fn(weight, literal, literal, layer), wg.DoubleLayer)
    assert_type(poly_fn(weight, literal, weight, literal), wg.DoubleLayer)
    assert_type(poly_fn(weight, literal, weight, weight), wg.DoubleLayer)
    assert_type(poly_fn(weight, literal, weight, layer), wg.DoubleLayer)
    assert_type(poly_fn(weight, literal, layer, literal), wg.DoubleLayer)
    assert_type(poly_fn(weight, literal, layer, weight), wg.DoubleLayer)
    assert_type(poly_fn(weight, literal, layer, layer), wg.DoubleLayer)
    assert_type(poly_fn(weight, weight, literal, literal), wg.DoubleLayer)
    assert_type(poly_fn(weight, weight, literal, weight), wg.DoubleLayer)
    assert_type(poly_fn(weight, weight, literal, layer), wg.DoubleLayer)
    assert_type(poly_fn(weight, weight, weight, literal), wg.DoubleLayer)
    assert_type(poly_fn(weight, weight, weight, weight), wg.DoubleLayer)
    assert_type(poly_fn(weight, weight, weight, layer), wg.DoubleLayer)
    assert_type(poly_fn(weight, weight, layer, literal), wg.DoubleLayer)
    assert_type(poly_fn(weight, weight, layer, weight), wg.DoubleLayer)
    assert_type(poly_fn(weight, weight, layer, layer), wg.DoubleLayer)
    assert_type(poly_fn(weight, layer, literal, literal), wg.DoubleLayer)
    assert_type(poly_fn(weight, layer, literal, weight), wg.DoubleLayer)
    assert_type(poly_fn(weight, layer, literal, layer), wg.DoubleLayer)
    assert_type(poly_fn(weight, layer, weight, literal), wg.DoubleLayer)
    assert_type(poly_fn(weight, layer, weight, weight), wg.DoubleLayer)
    assert_type(poly_fn(weight, layer, weight, layer), wg.DoubleLayer)
    assert_type(poly_fn(weight, layer, layer, literal), wg.DoubleLayer)
    assert_type(poly_fn(weight, layer, layer, weight), wg.DoubleLayer)
    assert_type(poly_fn(weight, layer, layer, layer), wg.DoubleLayer)
    assert_type(poly_fn(layer, literal, literal, literal), wg.DoubleLayer)
    assert_type(poly_fn(layer, literal, literal, weight), wg.DoubleLayer)
    assert_type(poly_fn(layer, literal, literal, layer), wg.DoubleLayer)
    assert_type(poly_fn(layer, literal, weight, literal), wg.DoubleLayer)
    assert_type(poly_fn(layer, literal, weight, weight), wg.DoubleLayer)
    assert_type(poly_fn(layer, literal, weight, layer), wg.DoubleLayer)
    assert_type(poly_fn(layer, literal, layer, literal), wg.DoubleLayer)
    assert_type(poly_fn(layer, literal, layer, weight), wg.DoubleLayer)
    assert_type(poly_fn(layer, literal, layer, layer), wg.DoubleLayer)
    assert_type(poly_fn(layer, weight, literal, literal), wg.DoubleLayer)
    assert_type(poly_fn(layer, weight, literal, weight), wg.DoubleLayer)
    assert_type(poly_fn(layer, weight, literal, layer), wg.DoubleLayer)
    assert_type(poly_fn(layer, weight, weight, literal), wg.DoubleLayer)
    assert_type(poly_fn(layer, weight, weight, weight), wg.DoubleLayer)
    assert_type(poly_fn(layer, weight, weight, layer), wg.DoubleLayer)
    assert_type(poly_fn(layer, weight, layer, literal), wg.DoubleLayer)
    assert_type(poly_fn(layer, weight, layer, weight), wg.DoubleLayer)
    assert_type(poly_fn(layer, weight, layer, layer), wg.DoubleLayer)
    assert_type(poly_fn(layer, layer, literal, literal), wg.DoubleLayer)
    assert_type(poly_fn(layer, layer, literal, weight), wg.DoubleLayer)
    assert_type(poly_fn(layer, layer, literal, layer), wg.DoubleLayer)
    assert_type(poly_fn(layer, layer, weight, literal), wg.DoubleLayer)
    assert_type(poly_fn(layer, layer, weight, weight), wg.DoubleLayer)
    assert_type(poly_fn(layer, layer, weight, layer), wg.DoubleLayer)
    assert_type(poly_fn(layer, layer, layer, literal), wg.DoubleLayer)
    assert_type(poly_fn(layer, layer, layer, weight), wg.DoubleLayer)
    assert_type(poly_fn(layer, layer, layer, layer), wg.DoubleLayer)


def case_81_mixes_of_float32_arrays() -> None:  # T23
    assert_type(poly_array(a32, a32, a32, a32), F32)
    assert_type(poly_array(a32, a32, a32, w32), F32)
    assert_type(poly_array(a32, a32, a32, l32), F32)
    assert_type(poly_array(a32, a32, w32, a32), F32)
    assert_type(poly_array(a32, a32, w32, w32), F32)
    assert_type(poly_array(a32, a32, w32, l32), F32)
    assert_type(poly_array(a32, a32, l32, a32), F32)
    assert_type(poly_array(a32, a32, l32, w32), F32)
    assert_type(poly_array(a32, a32, l32, l32), F32)
    assert_type(poly_array(a32, w32, a32, a32), F32)
    assert_type(poly_array(a32, w32, a32, w32), F32)
    assert_type(poly_array(a32, w32, a32, l32), F32)
    assert_type(poly_array(a32, w32, w32, a32), F32)
    assert_type(poly_array(a32, w32, w32, w32), F32)
    assert_type(poly_array(a32, w32, w32, l32), F32)
    assert_type(poly_array(a32, w32, l32, a32), F32)
    assert_type(poly_array(a32, w32, l32, w32), F32)
    assert_type(poly_array(a32, w32, l32, l32), F32)
    assert_type(poly_array(a32, l32, a32, a32), F32)
    assert_type(poly_array(a32, l32, a32, w32), F32)
    assert_type(poly_array(a32, l32, a32, l32), F32)
    assert_type(poly_array(a32, l32, w32, a32), F32)
    assert_type(poly_array(a32, l32, w32, w32), F32)
    assert_type(poly_array(a32, l32, w32, l32), F32)
    assert_type(poly_array(a32, l32, l32, a32), F32)
    assert_type(poly_array(a32, l32, l32, w32), F32)
    assert_type(poly_array(a32, l32, l32, l32), F32)
    assert_type(poly_array(w32, a32, a32, a32), F32)
    assert_type(poly_array(w32, a32, a32, w32), F32)
    assert_type(poly_array(w32, a32, a32, l32), F32)
    assert_type(poly_array(w32, a32, w32, a32), F32)
    assert_type(poly_array(w32, a32, w32, w32), F32)
    assert_type(poly_array(w32, a32, w32, l32), F32)
    assert_type(poly_array(w32, a32, l32, a32), F32)
    assert_type(poly_array(w32, a32, l32, w32), F32)
    assert_type(poly_array(w32, a32, l32, l32), F32)
    assert_type(poly_array(w32, w32, a32, a32), F32)
    assert_type(poly_array(w32, w32, a32, w32), F32)
    assert_type(poly_array(w32, w32, a32, l32), F32)
    assert_type(poly_array(w32, w32, w32, a32), F32)
    assert_type(poly_array(w32, w32, w32, w32), F32)
    assert_type(poly_array(w32, w32, w32, l32), F32)
    assert_type(poly_array(w32, w32, l32, a32), F32)
    assert_type(poly_array(w32, w32, l32, w32), F32)
    assert_type(poly_array(w32, w32, l32, l32), F32)
    assert_type(poly_array(w32, l32, a32, a32), F32)
    assert_type(poly_array(w32, l32, a32, w32), F32)
    assert_type(poly_array(w32, l32, a32, l32), F32)
    assert_type(poly_array(w32, l32, w32, a32), F32)
    assert_type(poly_array(w32, l32, w32, w32), F32)
    assert_type(poly_array(w32, l32, w32, l32), F32)
    assert_type(poly_array(w32, l32, l32, a32), F32)
    assert_type(poly_array(w32, l32, l32, w32), F32)
    assert_type(poly_array(w32, l32, l32, l32), F32)
    assert_type(poly_array(l32, a32, a32, a32), F32)
    assert_type(poly_array(l32, a32, a32, w32), F32)
    assert_type(poly_array(l32, a32, a32, l32), F32)
    assert_type(poly_array(l32, a32, w32, a32), F32)
    assert_type(poly_array(l32, a32, w32, w32), F32)
    assert_type(poly_array(l32, a32, w32, l32), F32)
    assert_type(poly_array(l32, a32, l32, a32), F32)
    assert_type(poly_array(l32, a32, l32, w32), F32)
    assert_type(poly_array(l32, a32, l32, l32), F32)
    assert_type(poly_array(l32, w32, a32, a32), F32)
    assert_type(poly_array(l32, w32, a32, w32), F32)
    assert_type(poly_array(l32, w32, a32, l32), F32)
    assert_type(poly_array(l32, w32, w32, a32), F32)
    assert_type(poly_array(l32, w32, w32, w32), F32)
    assert_type(poly_array(l32, w32, w32, l32), F32)
    assert_type(poly_array(l32, w32, l32, a32), F32)
    assert_type(poly_array(l32, w32, l32, w32), F32)
    assert_type(poly_array(l32, w32, l32, l32), F32)
    assert_type(poly_array(l32, l32, a32, a32), F32)
    assert_type(poly_array(l32, l32, a32, w32), F32)
    assert_type(poly_array(l32, l32, a32, l32), F32)
    assert_type(poly_array(l32, l32, w32, a32), F32)
    assert_type(poly_array(l32, l32, w32, w32), F32)
    assert_type(poly_array(l32, l32, w32, l32), F32)
    assert_type(poly_array(l32, l32, l32, a32), F32)
    assert_type(poly_array(l32, l32, l32, w32), F32)
    assert_type(poly_array(l32, l32, l32, l32), F32)


def case_81_mixes_of_float64_arrays() -> None:  # T23
    assert_type(poly_array(a64, a64, a64, a64), F64)
    assert_type(poly_array(a64, a64, a64, w64), F64)
    assert_type(poly_array(a64, a64, a64, l64), F64)
    assert_type(poly_array(a64, a64, w64, a64), F64)
    assert_type(poly_array(a64, a64, w64, w64), F64)
    assert_type(poly_array(a64, a64, w64, l64), F64)
    assert_type(poly_array(a64, a64, l64, a64), F64)
    assert_type(poly_array(a64, a64, l64, w64), F64)
    assert_type(poly_array(a64, a64, l64, l64), F64)
    assert_type(poly_array(a64, w64, a64, a64), F64)
    assert_type(poly_array(a64, w64, a64, w64), F64)
    assert_type(poly_array(a64, w64, a64, l64), F64)
    assert_type(poly_array(a64, w64, w64, a64), F64)
    assert_type(poly_array(a64, w64, w64, w64), F64)
    assert_type(poly_array(a64, w64, w64, l64), F64)
    assert_type(poly_array(a64, w64, l64, a64), F64)
    assert_type(poly_array(a64, w64, l64, w64), F64)
    assert_type(poly_array(a64, w64, l64, l64), F64)
    assert_type(poly_array(a64, l64, a64, a64), F64)
    assert_type(poly_array(a64, l64, a64, w64), F64)
    assert_type(poly_array(a64, l64, a64, l64), F64)
    assert_type(poly_array(a64, l64, w64, a64), F64)
    assert_type(poly_array(a64, l64, w64, w64), F64)
    assert_type(poly_array(a64, l64, w64, l64), F64)
    assert_type(poly_array(a64, l64, l64, a64), F64)
    assert_type(poly_array(a64, l64, l64, w64), F64)
    assert_type(poly_array(a64, l64, l64, l64), F64)
    assert_type(poly_array(w64, a64, a64, a64), F64)
    assert_type(poly_array(w64, a64, a64, w64), F64)
    assert_type(poly_array(w64, a64, a64, l64), F64)
    assert_type(poly_array(w64, a64, w64, a64), F64)
    assert_type(poly_array(w64, a64, w64, w64), F64)
    assert_type(poly_array(w64, a64, w64, l64), F64)
    assert_type(poly_array(w64, a64, l64, a64), F64)
    assert_type(poly_array(w64, a64, l64, w64), F64)
    assert_type(poly_array(w64, a64, l64, l64), F64)
    assert_type(poly_array(w64, w64, a64, a64), F64)
    assert_type(poly_array(w64, w64, a64, w64), F64)
    assert_type(poly_array(w64, w64, a64, l64), F64)
    assert_type(poly_array(w64, w64, w64, a64), F64)
    assert_type(poly_array(w64, w64, w64, w64), F64)
    assert_type(poly_array(w64, w64, w64, l64), F64)
    assert_type(poly_array(w64, w64, l64, a64), F64)
    assert_type(poly_array(w64, w64, l64, w64), F64)
    assert_type(poly_array(w64, w64, l64, l64), F64)
    assert_type(poly_array(w64, l64, a64, a64), F64)
    assert_type(poly_array(w64, l64, a64, w64), F64)
    assert_type(poly_array(w64, l64, a64, l64), F64)
    assert_type(poly_array(w64, l64, w64, a64), F64)
    assert_type(poly_array(w64, l64, w64, w64), F64)
    assert_type(poly_array(w64, l64, w64, l64), F64)
    assert_type(poly_array(w64, l64, l64, a64), F64)
    assert_type(poly_array(w64, l64, l64, w64), F64)
    assert_type(poly_array(w64, l64, l64, l64), F64)
    assert_type(poly_array(l64, a64, a64, a64), F64)
    assert_type(poly_array(l64, a64, a64, w64), F64)
    assert_type(poly_array(l64, a64, a64, l64), F64)
    assert_type(poly_array(l64, a64, w64, a64), F64)
    assert_type(poly_array(l64, a64, w64, w64), F64)
    assert_type(poly_array(l64, a64, w64, l64), F64)
    assert_type(poly_array(l64, a64, l64, a64), F64)
    assert_type(poly_array(l64, a64, l64, w64), F64)
    assert_type(poly_array(l64, a64, l64, l64), F64)
    assert_type(poly_array(l64, w64, a64, a64), F64)
    assert_type(poly_array(l64, w64, a64, w64), F64)
    assert_type(poly_array(l64, w64, a64, l64), F64)
    assert_type(poly_array(l64, w64, w64, a64), F64)
    assert_type(poly_array(l64, w64, w64, w64), F64)
    assert_type(poly_array(l64, w64, w64, l64), F64)
    assert_type(poly_array(l64, w64, l64, a64), F64)
    assert_type(poly_array(l64, w64, l64, w64), F64)
    assert_type(poly_array(l64, w64, l64, l64), F64)
    assert_type(poly_array(l64, l64, a64, a64), F64)
    assert_type(poly_array(l64, l64, a64, w64), F64)
    assert_type(poly_array(l64, l64, a64, l64), F64)
    assert_type(poly_array(l64, l64, w64, a64), F64)
    assert_type(poly_array(l64, l64, w64, w64), F64)
    assert_type(poly_array(l64, l64, w64, l64), F64)
    assert_type(poly_array(l64, l64, l64, a64), F64)
    assert_type(poly_array(l64, l64, l64, w64), F64)
    assert_type(poly_array(l64, l64, l64, l64), F64)


def case_one_wrong_operand_among_doubles() -> None:  # T24
    poly_fn("no", literal, literal, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, "no", literal, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, literal, "no", literal)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, literal, literal, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", literal, literal, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, "no", literal, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, literal, "no", weight)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, literal, weight, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", literal, literal, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, "no", literal, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, literal, "no", layer)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, literal, layer, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", literal, weight, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, "no", weight, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, weight, "no", literal)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, weight, literal, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", literal, weight, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, "no", weight, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, weight, "no", weight)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, weight, weight, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", literal, weight, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, "no", weight, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, weight, "no", layer)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, weight, layer, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", literal, layer, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, "no", layer, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, layer, "no", literal)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, layer, literal, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", literal, layer, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, "no", layer, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, layer, "no", weight)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, layer, weight, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", literal, layer, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, "no", layer, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, layer, "no", layer)  # E[arg-type]: incompatible type "str"
    poly_fn(literal, layer, layer, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", weight, literal, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, "no", literal, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, literal, "no", literal)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, literal, literal, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", weight, literal, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, "no", literal, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, literal, "no", weight)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, literal, weight, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", weight, literal, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, "no", literal, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, literal, "no", layer)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, literal, layer, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", weight, weight, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, "no", weight, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, weight, "no", literal)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, weight, literal, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", weight, weight, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, "no", weight, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, weight, "no", weight)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, weight, weight, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", weight, weight, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, "no", weight, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, weight, "no", layer)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, weight, layer, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", weight, layer, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, "no", layer, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, layer, "no", literal)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, layer, literal, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", weight, layer, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, "no", layer, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, layer, "no", weight)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, layer, weight, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", weight, layer, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, "no", layer, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, layer, "no", layer)  # E[arg-type]: incompatible type "str"
    poly_fn(weight, layer, layer, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", layer, literal, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, "no", literal, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, literal, "no", literal)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, literal, literal, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", layer, literal, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, "no", literal, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, literal, "no", weight)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, literal, weight, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", layer, literal, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, "no", literal, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, literal, "no", layer)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, literal, layer, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", layer, weight, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, "no", weight, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, weight, "no", literal)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, weight, literal, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", layer, weight, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, "no", weight, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, weight, "no", weight)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, weight, weight, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", layer, weight, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, "no", weight, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, weight, "no", layer)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, weight, layer, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", layer, layer, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, "no", layer, literal)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, layer, "no", literal)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, layer, literal, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", layer, layer, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, "no", layer, weight)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, layer, "no", weight)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, layer, weight, "no")  # E[arg-type]: incompatible type "str"
    poly_fn("no", layer, layer, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, "no", layer, layer)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, layer, "no", layer)  # E[arg-type]: incompatible type "str"
    poly_fn(layer, layer, layer, "no")  # E[arg-type]: incompatible type "str"


def case_one_wrong_operand_among_arrays() -> None:  # T24
    poly_array("no", a32, a32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, "no", a32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, a32, "no", a32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, a32, a32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", a32, a32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, "no", a32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, a32, "no", w32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, a32, w32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", a32, a32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, "no", a32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, a32, "no", l32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, a32, l32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", a32, w32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, "no", w32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, w32, "no", a32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, w32, a32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", a32, w32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, "no", w32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, w32, "no", w32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, w32, w32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", a32, w32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, "no", w32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, w32, "no", l32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, w32, l32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", a32, l32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, "no", l32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, l32, "no", a32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, l32, a32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", a32, l32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, "no", l32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, l32, "no", w32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, l32, w32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", a32, l32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, "no", l32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, l32, "no", l32)  # E[arg-type]: incompatible type "str"
    poly_array(a32, l32, l32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", w32, a32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, "no", a32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, a32, "no", a32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, a32, a32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", w32, a32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, "no", a32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, a32, "no", w32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, a32, w32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", w32, a32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, "no", a32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, a32, "no", l32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, a32, l32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", w32, w32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, "no", w32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, w32, "no", a32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, w32, a32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", w32, w32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, "no", w32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, w32, "no", w32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, w32, w32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", w32, w32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, "no", w32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, w32, "no", l32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, w32, l32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", w32, l32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, "no", l32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, l32, "no", a32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, l32, a32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", w32, l32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, "no", l32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, l32, "no", w32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, l32, w32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", w32, l32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, "no", l32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, l32, "no", l32)  # E[arg-type]: incompatible type "str"
    poly_array(w32, l32, l32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", l32, a32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, "no", a32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, a32, "no", a32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, a32, a32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", l32, a32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, "no", a32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, a32, "no", w32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, a32, w32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", l32, a32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, "no", a32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, a32, "no", l32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, a32, l32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", l32, w32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, "no", w32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, w32, "no", a32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, w32, a32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", l32, w32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, "no", w32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, w32, "no", w32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, w32, w32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", l32, w32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, "no", w32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, w32, "no", l32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, w32, l32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", l32, l32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, "no", l32, a32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, l32, "no", a32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, l32, a32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", l32, l32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, "no", l32, w32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, l32, "no", w32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, l32, w32, "no")  # E[arg-type]: incompatible type "str"
    poly_array("no", l32, l32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, "no", l32, l32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, l32, "no", l32)  # E[arg-type]: incompatible type "str"
    poly_array(l32, l32, l32, "no")  # E[arg-type]: incompatible type "str"


def case_dtypes_do_not_mix() -> None:  # T17, T26
    poly_fn(literal, weight, layer, float_weight)  # E: dtypes float64 and float32 do not mix|"FloatWeight"
    poly_fn(float_literal, weight, layer, literal)  # E: this number is a float32|"floating
    poly_array(a32, w32, l32, a64)  # E: dtypes float32 and float64 do not mix|"poly_array
    poly_array(w64, a32, l64, l64)  # E: dtypes float64 and float32 do not mix|"poly_array
    wg.multiply(weight, float_weight)  # E: dtypes float64 and float32 do not mix|"DoubleWeight"
    wg.multiply(l32, l64)  # E: dtypes float32 and float64 do not mix|type parameter
    wg.multiply(weight, a32)  # E: dtypes float64 and float32 do not mix|incompatible type "DoubleWeight"
    wg.multiply(a64, float_weight)  # E: dtypes float64 and float32 do not mix|type parameter


def case_scalars_with_arrays_of_their_dtype() -> None:  # T25
    assert_type(wg.multiply(weight, a64), F64)
    assert_type(wg.multiply(l64, weight), F64)
    assert_type(wg.add(float_weight, l32), F32)
    assert_type(wg.add(a32, float_weight), F32)
    assert_type(wg.subtract(a32, 1.0), F32)
    assert_type(wg.subtract(1, w64), F64)
    assert_type(wg.divide(float_literal, w32), F32)
    assert_type(wg.multiply(float_weight, 2.0), wg.FloatLayer)
    assert_type(wg.multiply(2.0, float_weight), wg.FloatLayer)


def case_raw_operands_go_through_functions() -> None:  # T42
    assert_type(wg.multiply(a32, a32), F32)
    assert_type(wg.lift(a32) * a32, F32)
    assert_type(sum([l32, l32], l32), F32)


def case_two_raw_operands_have_no_operator(  # typing.md, section 4: numpy's business where both are arrays
    a: wg.ArrayExpression[Any, N], b: wg.ArrayExpression[Any, N]
) -> None:
    a * b  # E[operator]: Unsupported left operand type for \*


def case_integer_and_boolean_arrays_are_refused() -> None:  # T27, T30
    wg.exp(np.zeros(3, np.int64))  # E: only arrays of floating-point|cannot be "signedinteger\[_64Bit\]"
    wg.exp(np.zeros(3, np.bool))  # E: only arrays of floating-point|cannot be ".*bool
    wg.exp(np.zeros(3, np.complex128))  # E: only arrays of floating-point|cannot be "complex128"
    wg.multiply(l32, np.zeros(3, np.int64))  # E: only arrays of floating-point|type parameter
