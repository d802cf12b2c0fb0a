"""Functions that make expressions of numbers: what mistakes for one is refused (D119, D120, T84)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, assert_type

import numpy as np

import wengert as wg
from wengert.plugins import SGD

L = TypeVar("L", bound=wg.DoubleLayer)
weight = SGD(learning_rate=0.1).double_weight(1.0)


def transform(function: Callable[[float], wg.DoubleLayer], x: float) -> wg.DoubleLayer:
    """Apply a network to a number."""
    return function(x)


def plain(x: float) -> float:
    return x * 2.0


def network(x: float) -> wg.DoubleLayer:
    return x * weight


def by_hand(x: float) -> wg.DoubleLayer:
    """x·w with its tape put together by hand."""

    def scaled(tape: wg.Tape[float, float]) -> wg.Tape[float, float]:
        return wg.Tape(x * tape.data, lambda delta: tape.backward(delta.map(lambda d: x * d)))

    return wg.DoubleLayer(weight.forward.map(scaled))


def case_a_function_of_numbers_is_no_network() -> None:  # D119
    transform(plain, 1.0)  # E[arg-type]: incompatible type "Callable\[\[float\], float\]"
    transform(lambda x: x * 2.0, 1.0)  # E: incompatible type "Callable\[\[float\], float\]"


def case_a_function_to_a_layer_is_a_network() -> None:  # D120
    assert_type(transform(network, 1.0), wg.DoubleLayer)
    assert_type(transform(by_hand, 1.0), wg.DoubleLayer)
    assert_type(transform(lambda x: x * weight, 1.0), wg.DoubleLayer)
    transform(network, "1")  # E[arg-type]: incompatible type "str"


Host32 = np.ndarray[Any, np.dtype[np.float32]]


def case_layers_from_a_do_of_a_tape(
    double: wg.Do[wg.Tape[float, float]],
    single: wg.Do[wg.Tape[np.float32, np.float32]],
    array: wg.Do[wg.Tape[wg.Array[tuple[int, int]], wg.Array[tuple[int, int]]]],
    host: wg.Do[wg.Tape[Host32, Host32]],
) -> None:  # T84, D40
    assert_type(wg.DoubleLayer(double), wg.DoubleLayer)
    assert_type(wg.FloatLayer(single), wg.FloatLayer)
    assert_type(wg.ArrayLayer(array), wg.ArrayLayer[tuple[int, int], np.float32, wg.Cpu])
    assert_type(wg.ArrayLayer(host), wg.ArrayLayer[Any, np.float32, wg.Cpu])
    wg.DoubleLayer(single)  # E[arg-type]: incompatible type "Do\[.*"
    wg.FloatLayer(double)  # E[arg-type]: incompatible type "Do\[Tape\[float, float\]\]"
    wg.ArrayLayer(double)  # E[arg-type]: incompatible type "Do\[Tape\[float, float\]\]"
    wg.DoubleLayer(1.0)  # E[arg-type]: incompatible type "float"


@wg.cell
def cell_of_two(x: wg.DoubleLayer, *, scale: float = 1.0) -> tuple[wg.DoubleLayer, wg.DoubleLayer]:
    return x * scale, x + scale


def case_cell_keeps_the_signature(d: wg.DoubleLayer, f: wg.FloatLayer) -> None:  # T48
    assert_type(cell_of_two(d), tuple[wg.DoubleLayer, wg.DoubleLayer])
    assert_type(cell_of_two(d, scale=2.0)[1], wg.DoubleLayer)
    cell_of_two(f)  # E[arg-type]: has incompatible type "FloatLayer"
    cell_of_two(d, rate=2.0)  # E[call-arg]: Unexpected keyword argument "rate"
    cell_of_two()  # E[call-arg]: Missing positional argument
    wg.cell(3)  # E[call-overload]: No overload variant of "cell" matches argument type "int"


class Scaling:
    @wg.cell
    def scaled(self, x: wg.DoubleLayer) -> wg.DoubleLayer:
        return weight * x


def case_a_method_that_is_a_cell(d: wg.DoubleLayer, f: wg.FloatLayer) -> None:  # T48
    assert_type(Scaling().scaled(d), wg.DoubleLayer)
    Scaling().scaled(f)  # E[arg-type]: has incompatible type "FloatLayer"
    Scaling().scaled()  # E[call-arg]: Missing positional argument
