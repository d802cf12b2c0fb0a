"""The array types: defaults, invariance, devices, masks (T20 to T22, T38 to T43, T81)."""
# ruff: noqa: F841, F842 -- cases are read by the type checker and never run

from __future__ import annotations

from typing import Any, Literal, TypeVar, assert_type

import numpy as np

import wengert as wg

N = TypeVar("N", bound=np.floating[Any])
a32: np.ndarray[Any, np.dtype[np.float32]] = np.ones((2, 2), np.float32)
a64: np.ndarray[Any, np.dtype[np.float64]] = np.ones((2, 2), np.float64)


def case_bare_names_are_their_defaults(bare: wg.ArrayLayer, weight: wg.ArrayWeight) -> None:  # T20
    assert_type(bare, wg.ArrayLayer[Any, np.float32, Literal["cpu"]])
    assert_type(weight, wg.ArrayWeight[Any, np.float32, wg.Cpu])
    assert_type(bare.device, Literal["cpu"])
    assert_type(bare.dtype, np.dtype[np.float32])


def case_parameters_are_invariant(
    l23: wg.ArrayLayer[tuple[Literal[2], Literal[3]]],
    l64: wg.ArrayLayer[Any, np.float64],
    gpu: wg.ArrayLayer[Any, np.float32, wg.Gpu],
) -> None:  # T21
    assert_type(l23.shape, tuple[Literal[2], Literal[3]])
    same: wg.ArrayLayer[tuple[Literal[2], Literal[3]]] = l23
    any_shape: wg.ArrayLayer = l23
    other_shape: wg.ArrayLayer[tuple[Literal[3], Literal[2]]] = l23  # E[assignment]: "ArrayLayer
    wider: wg.ArrayLayer[tuple[int, int]] = l23  # covariant, so that lists of several sizes are typed
    other_dtype: wg.ArrayLayer = l64  # E[assignment]: expression has type "ArrayLayer\[.*"
    other_device: wg.ArrayLayer = gpu  # E[assignment]: expression has type "ArrayLayer\[.*"


def case_parameters_are_bounded() -> None:  # T22
    no_tuple: wg.ArrayLayer[int]  # E[type-var]: Type argument "int" of "ArrayLayer"
    no_float: wg.ArrayLayer[Any, np.int64]  # E[type-var]: "signedinteger
    no_device: wg.ArrayLayer[Any, np.float32, str]  # E[type-var]: Type argument "str" of "ArrayLayer"


def case_elementwise_keeps_the_shape(x: wg.ArrayLayer[tuple[Literal[2], Literal[3]], np.float64]) -> None:
    assert_type(wg.relu(x), wg.ArrayLayer[tuple[Literal[2], Literal[3]], np.float64, wg.Cpu])
    assert_type(-wg.tanh(x), wg.ArrayLayer[tuple[Literal[2], Literal[3]], np.float64, wg.Cpu])


def case_elementwise_by_column(d: wg.DoubleWeight, f: wg.FloatWeight) -> None:
    assert_type(wg.exp(d), wg.DoubleLayer)
    assert_type(wg.exp(2.0), wg.DoubleLayer)
    assert_type(wg.exp(f), wg.FloatLayer)
    assert_type(wg.exp(np.float32(2.0)), wg.FloatLayer)
    assert_type(wg.exp(a32), wg.ArrayLayer[Any, np.float32, wg.Cpu])
    assert_type(wg.exp(a64), wg.ArrayLayer[Any, np.float64, wg.Cpu])


def case_devices_do_not_mix(cpu: wg.ArrayLayer, gpu: wg.ArrayLayer[Any, np.float32, wg.Gpu]) -> None:  # T38
    assert_type(gpu + gpu, wg.ArrayLayer[Any, np.float32, wg.Gpu])
    assert_type(wg.multiply(gpu, 2.0), wg.ArrayLayer[Any, np.float32, wg.Gpu])
    cpu + gpu  # E: devices cpu and gpu do not mix|operand types
    wg.multiply(cpu, gpu)  # E: devices cpu and gpu do not mix|type parameter
    gpu * a32  # E: devices gpu and cpu do not mix|operand types
    wg.multiply(a32, gpu)  # E: devices cpu and gpu do not mix|type parameter


def affine(
    x: wg.ArrayExpression[Any, N], w: wg.ArrayExpression[Any, N], b: wg.ArrayExpression[Any, N]
) -> wg.ArrayLayer[Any, N]:
    return wg.relu(wg.add(wg.matmul(x, w), b))


def case_a_generic_network(
    w32: wg.ArrayWeight,
    b32: wg.ArrayWeight,
    w64: wg.ArrayWeight[Any, np.float64],
    b64: wg.ArrayWeight[Any, np.float64],
) -> None:  # T40
    assert_type(affine(a32, w32, b32), wg.ArrayLayer[Any, np.float32, wg.Cpu])
    assert_type(affine(a64, w64, b64), wg.ArrayLayer[Any, np.float64, wg.Cpu])
    assert_type(affine(affine(a32, w32, b32), w32, b32), wg.ArrayLayer[Any, np.float32, wg.Cpu])


def case_a_generic_network_of_mixed_dtypes(
    w32: wg.ArrayWeight, w64: wg.ArrayWeight[Any, np.float64]
) -> None:  # T41
    affine(a32, w64, w64)  # E: dtypes float32 and float64 do not mix|type parameter "N" of "affine"
    affine(a64, w64, w32)  # E: dtypes float64 and float32 do not mix|type parameter "N" of "affine"
    affine(affine(a32, w32, w32), w64, w64)  # E: dtypes float32 and float64 do not mix|Cannot infer value


def case_lists_are_invariant(weights: list[wg.DoubleWeight]) -> None:  # T43
    expressions: list[wg.DoubleExpression] = weights  # E[assignment]


def case_masks(x: wg.ArrayLayer[Any, np.float64], d: wg.DoubleLayer) -> None:  # T81
    assert_type(wg.greater(d, 0.0), wg.Mask[tuple[()], wg.Cpu])
    assert_type(wg.greater(x, 0.0), wg.Mask[Any, wg.Cpu])
    assert_type(wg.where(wg.greater(x, 0.0), x, 0.0), wg.ArrayLayer[Any, np.float64, wg.Cpu])


def case_masks_are_no_numbers(x: wg.ArrayLayer, mask: wg.Mask) -> None:  # T82
    wg.train(mask)  # E[call-overload]: matches argument type "Mask\[Any, Literal\['cpu'\]\]"
    mask * x  # E[operator]: types for \* \("Mask\[.*" and "ArrayLayer\[.*"\)
    x * mask  # E[operator]: types for \* \("ArrayLayer\[.*" and "Mask\[.*"\)
    wg.exp(mask)  # E[call-overload]: matches argument type "Mask\[Any, Literal\['cpu'\]\]"
    wg.where(x, x, 0.0)  # E[call-overload]: "where"
    wg.greater(x, a64)  # E: dtypes float32 and float64 do not mix|type parameter
