"""Without the plugin: what is known nevertheless, and what only the plugin would find (T14, T28, T34, T36, T69)."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, assert_type

import numpy as np
import numpy.typing as npt

import wengert as wg
from wengert.plugins import SGD
from wengert.testing.plugin import plugin_active

F32 = wg.ArrayLayer[Any, np.float32, wg.Cpu]
settings = SGD(learning_rate=0.1)
double, single = settings.double_weight(1.0), settings.float_weight(1.0)
data: npt.NDArray[np.float32] = np.ones((2, 3), np.float32)
x, w = wg.literal(data, 2, 3), settings.array_weight(data, 3, 4)


@wg.register(Fraction)
def fraction(x: Fraction) -> wg.Do[wg.Tape[float, float]]:
    return wg.Do.now(wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None)))


def case_the_canary() -> None:  # T69
    assert_type(plugin_active(), Literal[False])
    assert_type(plugin_active(), Literal[True])  # E[assert-type]: "Literal\[False\]", not "Literal\[True\]"


def case_an_ignore_is_a_canary_too() -> None:  # T69
    x @ x  # type: ignore[shape]  # E[unused-ignore]: Unused "type: ignore" comment


def case_raw_registered_values() -> None:  # T14
    wg.exp(Fraction(1))  # E[call-overload]: matches argument type "Fraction"
    wg.multiply(Fraction(1), 2.0)  # E[call-overload]: matches argument types "Fraction", "float"
    double * Fraction(1)  # E[operator]: "Fraction"
    Fraction(1) * double  # E[operator]: "DoubleWeight"
    assert_type(wg.exp(fraction(Fraction(1))), wg.DoubleLayer)


def case_unregistered_values() -> None:  # T16
    wg.exp(Decimal(1))  # E[call-overload]: matches argument type "Decimal"
    wg.train(Decimal(1))  # E: "Decimal"
    wg.lift(Decimal(1))  # E: "Decimal"


def case_another_dtype_in_place() -> None:  # T28: a limit
    assert_type(x * np.zeros(3, np.float64), F32)


def case_arrays_of_unknown_dtype(unknown: npt.NDArray[Any]) -> None:  # T34: a limit
    assert_type(unknown * x, Any)
    assert_type(x * unknown, F32)
    assert_type(wg.exp(unknown), wg.ArrayLayer[Any, Any])


def case_integers_in_place() -> None:  # T27
    wg.exp(np.zeros(3, np.int64))  # E[type-var]: "T" of .* cannot be "signedinteger\[_64Bit\]"
    wg.multiply(x, np.zeros(3, np.int64))  # E[misc]: type parameter "T" of "__call__" of "Broadcasting"


def case_layers_as_values() -> None:  # T36: a limit
    np.asarray(x)
    np.array([x, x])
    bool(double)
    any([x])


def case_shapes_are_unknown() -> None:  # T70
    assert_type(x, F32)
    assert_type(w, wg.ArrayWeight[Any, np.float32, wg.Cpu])
    assert_type(x @ w, F32)
    assert_type(w @ x, F32)
    assert_type(wg.reshape(x, (3, 2)), F32)
    assert_type(wg.sum(x, axis=0), F32)


def case_stated_shapes_are_kept(stated: wg.ArrayLayer[tuple[Literal[2], Literal[3]]]) -> None:  # T21, T74
    assert_type(wg.relu(stated), wg.ArrayLayer[tuple[Literal[2], Literal[3]]])
    assert_type(wg.sum(stated), wg.ArrayLayer[tuple[()]])
    assert_type(stated + stated, F32)
    taken: wg.ArrayLayer[tuple[Literal[3], Literal[2]]] = stated  # E[assignment]: "ArrayLayer
    wg.train(taken)  # E[arg-type]: incompatible type "ArrayLayer\[.*"


def case_dtypes_do_not_mix(wide: npt.NDArray[np.float64]) -> None:  # T17, T26
    double - np.float32(1)  # E[operator]: matches argument type "floating\[_32Bit\]"
    x * double  # E[operator]: Unsupported operand types for \*
    x * wide  # E[operator]: types for \* \("ArrayLayer\[.*" and "ndarray\[.*"\)
    wide * x  # E[operator]: matches argument type "ArrayLayer\[Any, floating\[_32Bit\], Literal\['cpu'\]\]"
    wg.multiply(double, single)  # E[arg-type]: incompatible type "DoubleWeight"
