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
    transform(plain, 1.0)  # E[arg-type]
    transform(lambda x: x * 2.0, 1.0)  # E


def case_a_function_to_a_layer_is_a_network() -> None:  # D120
    assert_type(transform(network, 1.0), wg.DoubleLayer)
    assert_type(transform(by_hand, 1.0), wg.DoubleLayer)
    assert_type(transform(lambda x: x * weight, 1.0), wg.DoubleLayer)
    transform(network, "1")  # E[arg-type]


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
    wg.DoubleLayer(single)  # E[arg-type]
    wg.FloatLayer(double)  # E[arg-type]
    wg.ArrayLayer(double)  # E
    wg.DoubleLayer(1.0)  # E[arg-type]
