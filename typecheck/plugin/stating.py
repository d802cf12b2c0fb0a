"""Where a shape enters a program: `literal` and `array_weight` (T70)."""

from __future__ import annotations

from typing import Any, Literal, assert_type

import numpy as np
from given import L2, L3, L4, WIDTH, Batch, Features, MySettings, count, data, named, settings, w, x

import wengert as wg
from wengert.plugins import Factory


def case_integers() -> None:  # T70
    assert_type(wg.literal(data, 2, 3), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.literal(data, 0, 3), wg.ArrayLayer[tuple[Literal[0], L3]])
    assert_type(wg.literal(data, 2), wg.ArrayLayer[tuple[L2]])


def case_no_integers() -> None:  # T70
    assert_type(wg.literal(data), wg.ArrayLayer[Any])
    assert_type(settings.array_weight(data), wg.ArrayWeight[Any])


def case_finals() -> None:  # T70
    assert_type(wg.literal(data, 2, WIDTH), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(settings.array_weight(data, WIDTH, WIDTH), wg.ArrayWeight[tuple[L3, L3]])


def case_names() -> None:  # T70
    assert_type(wg.literal(data, Batch, Features), wg.ArrayLayer[tuple[Batch, Features]])
    assert_type(wg.literal(data, Batch(2), Features(3)), wg.ArrayLayer[tuple[Batch, Features]])
    assert_type(settings.array_weight(data, Features, 3), wg.ArrayWeight[tuple[Features, L3]])


def case_unknown_integers(n: int) -> None:  # T70
    assert_type(wg.literal(data, 2, count()), wg.ArrayLayer[tuple[L2, Any]])
    assert_type(wg.literal(data, n, 3), wg.ArrayLayer[tuple[Any, L3]])
    assert_type(settings.array_weight(data, n, n), wg.ArrayWeight[tuple[Any, Any]])


def case_literal_variables(n: L2, m: Literal[3, 4]) -> None:  # T70
    assert_type(wg.literal(data, n, 3), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.literal(data, m, 3), wg.ArrayLayer[tuple[Any, L3]])


def case_a_shape_unpacked() -> None:  # T70
    rows, columns = x.shape
    assert_type(wg.literal(data, columns, rows), wg.ArrayLayer[tuple[L3, L2]])
    batch, _ = named.shape
    assert_type(wg.literal(data, batch, 4), wg.ArrayLayer[tuple[Batch, L4]])


def case_a_shape_indexed() -> None:  # T70
    assert_type(wg.literal(data, named.shape[0], x.shape[-1]), wg.ArrayLayer[tuple[Batch, L3]])
    assert_type(settings.array_weight(data, w.shape[1], w.shape[0]), wg.ArrayWeight[tuple[L4, L3]])


def case_the_shape_of_a_weight() -> None:  # T70
    assert_type(w, wg.ArrayWeight[tuple[L3, L4]])
    assert_type(w.shape, tuple[L3, L4])
    assert_type(w.data, np.ndarray[tuple[L3, L4], np.dtype[np.float32]])


def case_a_weight_of_settings_that_a_factory_made() -> None:  # T70
    made = Factory(MySettings).new_instance(learning_rate=0.1)
    assert_type(made.array_weight(data, Batch, WIDTH), wg.ArrayWeight[tuple[Batch, L3]])


def case_the_dtype_is_the_arrays() -> None:  # T70
    assert_type(wg.literal(np.ones((2, 3)), 2, 3), wg.ArrayLayer[tuple[L2, L3], np.float64])
    assert_type(settings.array_weight(np.ones((2, 3)), 2, 3), wg.ArrayWeight[tuple[L2, L3], np.float64])


def case_what_is_no_dimension(text: str) -> None:  # T70
    wg.literal(data, "2", 3)  # E[arg-type]: "str"
    wg.literal(data, 2.0)  # E[arg-type]: "float"
    wg.literal(data, str)  # E[arg-type]: type\[str\]
    settings.array_weight(data, None)  # E[arg-type]: "None"


def case_a_layer_is_stated_by_its_type(some: wg.ArrayLayer[Any]) -> None:  # T70, T79
    stated: wg.ArrayLayer[tuple[Batch, L3]] = some
    assert_type(wg.relu(stated), wg.ArrayLayer[tuple[Batch, L3]])
