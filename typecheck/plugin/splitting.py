"""Arrays taken apart, turned round, and picked from line by line (T76, T78)."""

from __future__ import annotations

from typing import Any, Literal, TypeVar, assert_type

import numpy as np
from given import L1, L2, L3, L4, L5, L8, Batch, batched, count, data, named, row, unknown, w, x

import wengert as wg
from wengert.dims import FloorDiv, Mul

B = TypeVar("B", bound=int)
H = TypeVar("H", bound=int)


def case_equal_parts() -> None:  # T76
    a, b = wg.split(w, 2, axis=1)
    assert_type(a, wg.ArrayLayer[tuple[L3, L2]])
    assert_type(b, wg.ArrayLayer[tuple[L3, L2]])
    assert_type(wg.split(row, 3)[2], wg.ArrayLayer[tuple[L1]])
    assert_type(wg.split(batched, 3, axis=-1)[0], wg.ArrayLayer[tuple[L5, L2, L1]])
    a, b, _ = wg.split(w, 2, axis=1)  # E[misc]: Need more than 2 values


def case_unequal_parts() -> None:  # T76
    wg.split(x, 2, axis=1)  # E[shape]: axis 1 of shape \(2, 3\) into 2 .*: 3 is no multiple of 2$
    wg.split(x, 0)  # E[shape]: ^split: cannot split into 0 parts$
    wg.split(x, 2, axis=2)  # E[shape]: ^split: axis 2 is out of range for shape \(2, 3\)$


def case_parts_at_indices() -> None:  # T76
    first, second, rest = wg.split(wg.literal(data, 8, 3), (1, 4))
    assert_type(first, wg.ArrayLayer[tuple[L1, L3]])
    assert_type(second, wg.ArrayLayer[tuple[L3, L3]])
    assert_type(rest, wg.ArrayLayer[tuple[L4, L3]])
    assert_type(wg.split(wg.literal(data, 8), [-3])[0], wg.ArrayLayer[tuple[L5]])
    first, second = wg.split(wg.literal(data, 8, 3), (1, 4))  # E[misc]: Too many values


def case_parts_of_named_axes() -> None:  # T76
    left, right = wg.split(named, (count(),))
    assert_type(left, wg.ArrayLayer[tuple[Any, L3]])
    assert_type(wg.split(named, 3, axis=1)[0], wg.ArrayLayer[tuple[Batch, L1]])
    assert_type(right, wg.ArrayLayer[tuple[Any, L3]])


def case_gates(gates: wg.ArrayLayer[tuple[B, Mul[H, L4]]]) -> wg.ArrayLayer[tuple[B, H]]:  # T78
    i, f, g, o = wg.split(gates, 4, axis=1)
    assert_type(i, wg.ArrayLayer[tuple[B, H]])
    return wg.sigmoid(o) * wg.tanh(wg.sigmoid(f) * wg.sigmoid(i) * wg.tanh(g))


def case_parts_of_symbolic_size(y: wg.ArrayLayer[tuple[B, H]], heads: H) -> None:  # T78
    assert_type(wg.split(y, 2, axis=1)[1], wg.ArrayLayer[tuple[B, FloorDiv[H, L2]]])
    for column in wg.split(y, heads, axis=1):
        assert_type(column, wg.ArrayLayer[tuple[B, L1]])


def case_parts_of_what_is_unknown() -> None:  # T76, T79
    assert_type(wg.split(unknown, 2), tuple[wg.ArrayLayer[Any], wg.ArrayLayer[Any]])
    assert_type(wg.split(x, count()), tuple[wg.ArrayLayer[tuple[Any, L3]], ...])
    assert_type(wg.split(x, 2, axis=count())[0], wg.ArrayLayer[Any])


def case_flip_and_roll() -> None:  # T76
    assert_type(wg.flip(x), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.flip(named, axis=(0, -1)), wg.ArrayLayer[tuple[Batch, L3]])
    assert_type(wg.roll(x, 1), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.roll(batched, (1, -2), axis=(0, 2)), wg.ArrayLayer[tuple[L5, L2, L3]])
    assert_type(wg.roll(unknown, 1, axis=7), wg.ArrayLayer[Any])


def case_flipped_and_rolled_wrongly() -> None:  # T76
    wg.flip(x, axis=2)  # E[shape]: ^flip: axis 2 is out of range for shape \(2, 3\)$
    wg.flip(x, axis=(1, 1))  # E[shape]: ^flip: axes \(1, 1\) name one axis of shape \(2, 3\) twice$
    wg.roll(x, 1, axis=-3)  # E[shape]: ^roll: axis -3 is out of range for shape \(2, 3\)$
    wg.roll(x, (1, 2), axis=0)  # E[shape]: ^roll: shift \(1, 2\) has 2 numbers, not 1: there are axes \(0,\)$
    wg.roll(x, (1, 2))  # E[shape]: ^roll: shift \(1, 2\) has 2 numbers, not 1: there is no axis$


def case_take_along_an_axis(rows: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> None:  # T76
    assert_type(wg.take_along_axis(x, rows), wg.ArrayLayer[tuple[L2, Any]])
    assert_type(wg.take_along_axis(named, rows, axis=1), wg.ArrayLayer[tuple[Batch, Any]])
    assert_type(wg.take_along_axis(row, [2, 0]), wg.ArrayLayer[tuple[L2]])
    wg.take_along_axis(x, rows, axis=2)  # E[shape]: axis 2 is out of range for shape \(2, 3\)$
    wg.take_along_axis(batched, rows)  # E[shape]: the indices have 2 axes, .* \(5, 2, 3\) has 3$


def case_joined_again() -> None:  # T76, T78
    y = wg.literal(data, 8, 3)
    assert_type(wg.concat(wg.split(y, 2)), wg.ArrayLayer[tuple[L8, L3]])
    assert_type(wg.stack(wg.split(y, 4)), wg.ArrayLayer[tuple[L4, L2, L3]])
    assert_type(wg.split(y, 2)[0].shape[0], Literal[4])


def case_results_of_unlike_shapes() -> None:
    """Factors of a matrix, and a grid: unpacked or by index; what `Q` and the like name keeps its declared type."""
    tall, square = wg.literal(data, 5, 3), wg.literal(data, Batch, 4, 4)
    q, r = wg.linalg.qr(tall)
    assert_type(q, wg.ArrayLayer[tuple[L5, L3], Any, Any])
    assert_type(r, wg.ArrayLayer[tuple[L3, L3], Any, Any])
    u, s, vh = wg.linalg.svd(wg.matrix_transpose(tall))
    assert_type(u, wg.ArrayLayer[tuple[L3, L3], Any, Any])
    assert_type(s, wg.ArrayLayer[tuple[L3], Any, Any])
    assert_type(vh, wg.ArrayLayer[tuple[L3, L5], Any, Any])
    values, vectors = wg.linalg.eigh(square)
    assert_type(values, wg.ArrayLayer[tuple[Batch, L4], Any, Any])
    assert_type(vectors, wg.ArrayLayer[tuple[Batch, L4, L4], Any, Any])
    columns, rows = wg.meshgrid(wg.literal(data, 2), wg.literal(data, 3))
    assert_type(columns, wg.ArrayLayer[tuple[L3, L2]])
    first, _ = wg.meshgrid(wg.literal(data, 2), wg.literal(data, 3), indexing="ij")
    assert_type(first, wg.ArrayLayer[tuple[L2, L3]])
    wg.matmul(rows, columns)  # E[shape]: cannot multiply \(3, 2\) by \(3, 2\)
    wg.linalg.eigh(tall)  # E[shape]: ^eigh: expected square matrices, got shape \(5, 3\)$
    wg.meshgrid(tall)  # E[shape]: ^meshgrid: expected a vector, got shape \(5, 3\)$
