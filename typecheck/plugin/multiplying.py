"""Products of matrices, with rows, columns and batches (T72, T73)."""

from __future__ import annotations

from typing import Any, Literal, assert_type

from given import L1, L2, L3, L4, L5, L6, Batch, Features, batched, data, named, row, scalar, settings, w, x

import wengert as wg

Shape24 = wg.ArrayLayer[tuple[L2, L4]]


def case_matrices() -> None:  # T72
    assert_type(x @ w, Shape24)
    assert_type(wg.matmul(x, w), Shape24)
    assert_type(wg.relu(x) @ w, Shape24)
    assert_type(w @ wg.literal(data, 4, 1), wg.ArrayLayer[tuple[L3, L1]])


def case_rows_and_columns() -> None:  # T72
    assert_type(row @ w, wg.ArrayLayer[tuple[L4]])
    assert_type(x @ row, wg.ArrayLayer[tuple[L2]])
    assert_type(row @ row, wg.ArrayLayer[tuple[()]])


def case_batches() -> None:  # T72
    assert_type(batched @ w, wg.ArrayLayer[tuple[L5, L2, L4]])
    assert_type(x @ wg.literal(data, 5, 3, 4), wg.ArrayLayer[tuple[L5, L2, L4]])
    assert_type(batched @ wg.literal(data, 5, 3, 6), wg.ArrayLayer[tuple[L5, L2, L6]])
    assert_type(batched @ row, wg.ArrayLayer[tuple[L5, L2]])


def case_batches_that_broadcast() -> None:  # T72
    one = wg.literal(data, 1, 3, 4)
    assert_type(batched @ one, wg.ArrayLayer[tuple[L5, L2, L4]])
    four = wg.literal(data, 6, 1, 3, 4)
    assert_type(batched @ four, wg.ArrayLayer[tuple[L6, L5, L2, L4]])


def case_names() -> None:  # T72
    assert_type(named @ w, wg.ArrayLayer[tuple[Batch, L4]])
    features = settings.array_weight(data, Features, 4)
    assert_type(wg.literal(data, Batch, Features) @ features, wg.ArrayLayer[tuple[Batch, L4]])


def case_raw_arrays() -> None:  # T72
    assert_type(data @ w, wg.ArrayLayer[Any])
    assert_type(wg.matmul(x, data), wg.ArrayLayer[Any])


def case_inner_sizes_that_differ() -> None:  # T72
    w @ x  # E[shape]: ^matmul: cannot multiply \(3, 4\) by \(2, 3\): inner dimensions 4 and 2 differ$
    wg.matmul(x, x)  # E[shape]: ^matmul: cannot multiply \(2, 3\) by \(2, 3\): inner .* 3 and 2 differ$
    row @ x  # E[shape]: ^matmul: cannot multiply \(3,\) by \(2, 3\): inner dimensions 3 and 2 differ$
    w @ row  # E[shape]: ^matmul: cannot multiply \(3, 4\) by \(3,\): inner dimensions 4 and 3 differ$
    batched @ x  # E[shape]: cannot multiply \(5, 2, 3\) by \(2, 3\): inner dimensions 3 and 2 differ$


def case_inner_names_that_differ() -> None:  # T72
    x @ named  # E[shape]: ^matmul: cannot multiply \(2, 3\) by \(Batch, 3\): inner .* 3 and Batch differ$
    wg.literal(data, 2, Features) @ w  # E[shape]: inner dimensions Features and 3 differ$


def case_batches_that_differ() -> None:  # T72
    batched @ wg.literal(data, 4, 3, 2)  # E[shape]: ^matmul: shapes \(5,\) and \(4,\) do not broadcast
    wg.matmul(wg.literal(data, Batch, 2, 3), batched_weights())  # E[shape]: Batch and 5 differ


def batched_weights() -> wg.ArrayWeight[tuple[L5, L3, L4]]:
    return settings.array_weight(data, 5, 3, 4)


def case_an_array_without_axes_is_no_matrix() -> None:  # T72
    scalar @ w  # E[shape]: ^matmul: cannot multiply \(\) by \(3, 4\): .* is no matrix; use multiply$
    x @ scalar  # E[shape]: use multiply


def case_a_transposed_weight() -> None:  # T72
    assert_type(x @ wg.permute_dims(settings.array_weight(data, 4, 3), (1, 0)), Shape24)
    x @ settings.array_weight(data, 4, 3)  # E[shape]: inner dimensions 3 and 4 differ


def case_a_network_in_one_expression() -> None:  # T73
    assert_type(wg.matmul(wg.relu(x @ w), wg.literal(data, 4, 5)), wg.ArrayLayer[tuple[L2, L5]])
    assert_type(wg.softmax(wg.matmul(wg.relu(wg.matmul(x, w)), wg.literal(data, 4, 6))), F26)


F26 = wg.ArrayLayer[tuple[L2, L6]]


def case_nested_calls_keep_dimensions() -> None:  # T73
    assert_type(wg.add(wg.tanh(x), wg.sigmoid(x)), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.exp(x) @ wg.softmax(w), Shape24)
    assert_type(wg.add(wg.multiply(x, wg.add(x, row)), row), wg.ArrayLayer[tuple[L2, L3]])
    wg.tanh(w) @ wg.relu(x)  # E[shape]: inner dimensions 4 and 2 differ
    wg.add(wg.exp(x), wg.exp(w))  # E[shape]: ^add: shapes \(2, 3\) and \(3, 4\)


def case_in_a_loop(layers: list[wg.ArrayWeight[tuple[L3, L3]]]) -> None:  # T73
    hidden = x
    for layer in layers:
        hidden = wg.relu(hidden @ layer)
    assert_type(hidden, wg.ArrayLayer[tuple[L2, L3]])
    for _ in layers:
        hidden = hidden @ w  # E[assignment]: Literal\[4\]


def case_in_branches(flag: bool) -> None:  # T73
    chosen = x @ w if flag else wg.literal(data, 2, 4)
    assert_type(chosen, Shape24)
    assert_type((lambda a: a @ w)(x), Shape24)
    assert_type([x @ w for _ in range(2)], list[Shape24])


def case_big_sizes() -> None:  # T72
    big = wg.literal(data, 99999999999999999999, 3)
    assert_type(big @ w, wg.ArrayLayer[tuple[Literal[99999999999999999999], L4]])
