"""Shapes that broadcast, from the right, and those that do not (T71)."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from given import (
    L1,
    L2,
    L3,
    L4,
    L5,
    Batch,
    Features,
    batched,
    data,
    named,
    row,
    scalar,
    settings,
    unknown,
    w,
    x,
)

import wengert as wg

column = wg.literal(data, 2, 1)


def case_equal_shapes() -> None:  # T71
    assert_type(x + x, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.multiply(x, x), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(w / w, wg.ArrayLayer[tuple[L3, L4]])
    assert_type(x**x, wg.ArrayLayer[tuple[L2, L3]])


def case_one_operand() -> None:  # T71
    assert_type(-w, wg.ArrayLayer[tuple[L3, L4]])
    assert_type(abs(w), wg.ArrayLayer[tuple[L3, L4]])
    assert_type(wg.sqrt(named), wg.ArrayLayer[tuple[Batch, L3]])
    assert_type(wg.stop_gradient(x), wg.ArrayLayer[tuple[L2, L3]])


def case_numbers() -> None:  # T71
    assert_type(x - 1.0, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(2.0 / x, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(x**2, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(np.float32(2.0) * x, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.maximum(x, 0.0), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.minimum(1, x), wg.ArrayLayer[tuple[L2, L3]])


def case_scalar_expressions(f: wg.FloatLayer) -> None:  # T71
    assert_type(settings.float_weight(2.0) * x, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(x * settings.float_weight(2.0), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.add(f, x), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.subtract(x, f), wg.ArrayLayer[tuple[L2, L3]])


def case_arrays_without_axes() -> None:  # T71
    assert_type(x * scalar, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(scalar - w, wg.ArrayLayer[tuple[L3, L4]])
    assert_type(scalar + scalar, wg.ArrayLayer[tuple[()]])


def case_raw_arrays() -> None:  # T71: numpy's static shapes say the rank at most
    assert_type(data * x, wg.ArrayLayer[Any])
    assert_type(x * data, wg.ArrayLayer[Any])
    assert_type(wg.add(data, x), wg.ArrayLayer[Any])


def case_a_row() -> None:  # T71
    assert_type(x + row, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(row + x, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.add(x, row), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(batched + row, wg.ArrayLayer[tuple[L5, L2, L3]])
    assert_type(batched - x, wg.ArrayLayer[tuple[L5, L2, L3]])


def case_a_column() -> None:  # T71
    assert_type(x * column, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(column * x, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(column + wg.literal(data, 1, 3), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(column + column, wg.ArrayLayer[tuple[L2, L1]])


def case_names() -> None:  # T71
    assert_type(named + row, wg.ArrayLayer[tuple[Batch, L3]])
    assert_type(named + wg.literal(data, 1, 3), wg.ArrayLayer[tuple[Batch, L3]])
    assert_type(named * wg.literal(data, Batch, 1), wg.ArrayLayer[tuple[Batch, L3]])


def case_sizes_that_differ() -> None:  # T71
    x + w  # E[shape]: ^add: shapes \(2, 3\) and \(3, 4\) do not broadcast: 2 and 3 differ$
    wg.multiply(x, w)  # E[shape]: ^multiply: shapes \(2, 3\) and \(3, 4\) do not broadcast
    x / wg.literal(data, 2, 4)  # E[shape]: ^divide: shapes \(2, 3\) and \(2, 4\) .* 3 and 4 differ$
    wg.literal(data, 4) * x  # E[shape]: ^multiply: shapes \(4,\) and \(2, 3\) .* 4 and 3 differ$
    wg.maximum(x, wg.literal(data, 3, 3))  # E[shape]: ^maximum: .* 2 and 3 differ$
    x ** wg.literal(data, 2, 2)  # E[shape]: ^pow: .* 3 and 2 differ$


def case_names_that_differ() -> None:  # T71
    named - x  # E[shape]: ^subtract: shapes \(Batch, 3\) and \(2, 3\) do not broadcast: Batch and 2 differ$
    named / wg.literal(data, Features, 3)  # E[shape]: ^divide: .* Batch and Features differ$
    wg.literal(data, Features) + wg.literal(data, Batch)  # E[shape]: Features and Batch differ


def case_a_shape_of_neither_operand(n: int) -> None:  # T71: a forgotten axis, as in (N, 1) - (N,)
    two = wg.literal(data, 2)
    column - two  # E[shape]: would broadcast to \(2, 2\), a shape of neither.* expand_dims or broadcast_to$
    two * column  # E[shape]: ^multiply: shapes \(2,\) and \(2, 1\) would broadcast to \(2, 2\)
    column - np.zeros(n, np.float32)  # E[shape]: shapes \(2, 1\) and \(\?,\) would broadcast to \(2, \?\)
    wg.literal(data, Batch, 1) - wg.literal(data, Batch)  # E[shape]: would broadcast to \(Batch, Batch\)


def case_outer_products() -> None:  # T71: another rank, and no axis that could have been forgotten
    assert_type(column - row, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(row * column, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.literal(data, Batch, 1) * row, wg.ArrayLayer[tuple[Batch, L3]])


def case_three_operands_in_one_line() -> None:  # T71
    assert_type(x * column + row, wg.ArrayLayer[tuple[L2, L3]])
    x * column + w  # E[shape]: ^add: shapes \(2, 3\) and \(3, 4\)


def case_unknown_operands() -> None:  # T71, T79
    assert_type(x + unknown, wg.ArrayLayer[Any])
    assert_type(unknown * w, wg.ArrayLayer[Any])
