"""Calls in calls: what a generic function gives keeps its dimensions (T73), and one mistake is one error."""

from __future__ import annotations

from typing import Any, Literal, TypeVar, assert_type

import numpy as np
import numpy.typing as npt
from given import L2, L3, L4, L5, Batch, named, row, unknown, w, x

import wengert as wg
from wengert import nn

B = TypeVar("B", bound=int)
C = TypeVar("C", bound=int)
S = TypeVar("S", bound=tuple[int, ...])
Wide = npt.NDArray[np.float64]


def same(x: wg.ArrayLayer[tuple[B, C]]) -> wg.ArrayLayer[tuple[B, C]]:
    return wg.relu(x)


def any_rank(x: wg.ArrayLayer[S]) -> wg.ArrayLayer[S]:
    return wg.relu(x)


def square(x: wg.ArrayLayer[tuple[B, C]]) -> wg.Mask[tuple[C, C]]:
    return wg.greater(wg.permute_dims(x, (1, 0)) @ x, 0.0)


def case_arguments_of_functions() -> None:  # T73
    assert_type(wg.matmul(same(x), w), wg.ArrayLayer[tuple[L2, L4]])
    assert_type(wg.matmul(any_rank(named), w), wg.ArrayLayer[tuple[Batch, L4]])
    assert_type(wg.add(same(x), same(x)), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.expand_dims(same(x), axis=0), wg.ArrayLayer[tuple[Literal[1], L2, L3]])
    assert_type(wg.sum(any_rank(x), axis=1), wg.ArrayLayer[tuple[L2]])
    assert_type(wg.matmul(wg.relu(same(x)), w), wg.ArrayLayer[tuple[L2, L4]])
    assert_type(wg.greater(same(x), 0.0), wg.Mask[tuple[L2, L3]])
    assert_type(wg.matmul(same(unknown), w), wg.ArrayLayer[tuple[Any, L4]])


def case_arguments_of_layers(linear: nn.Linear[L3, L5]) -> None:  # T73, T77
    assert_type(linear(same(named)), wg.ArrayLayer[tuple[Batch, L5]])
    assert_type(same(linear(same(x))), wg.ArrayLayer[tuple[L2, L5]])


def case_arguments_that_do_not_fit() -> None:  # T72, T81
    wg.matmul(same(x), same(x))  # E[shape]: ^matmul: cannot multiply \(2, 3\) by \(2, 3\): inner
    x @ same(x)  # E[shape]: ^matmul: cannot multiply \(2, 3\) by \(2, 3\): inner
    wg.where(square(x), x, 0.0)  # E[shape]: ^where: shapes \(3, 3\) and \(2, 3\) do not broadcast:


def case_an_operator_in_a_return() -> wg.ArrayLayer[tuple[L2, L4]]:  # T72
    """One error, and no other for a result that would be Any."""
    return w @ x  # E[shape]: ^matmul: cannot multiply \(3, 4\) by \(2, 3\): inner dimensions 4 and 2 differ


def case_elements_in_a_return(wide: Wide) -> wg.ArrayLayer[tuple[L2, L3]]:  # T26
    return x * wide  # E[dtype]: ^multiply: dtypes float32 and float64 do not mix;


def case_an_operator_in_an_assignment() -> None:  # T71
    total: wg.ArrayLayer[tuple[L2, L3]] = x
    total += w  # E[shape]: ^add: shapes \(2, 3\) and \(3, 4\) do not broadcast
    assert_type(total, wg.ArrayLayer[tuple[L2, L3]])


def case_an_integer_is_one_place(i: int, j: np.int64, table: nn.Embedding[L5, L3]) -> None:  # T76, T77
    assert_type(wg.take(x, i, axis=0), wg.ArrayLayer[tuple[L3]])
    assert_type(wg.take(x, 1, axis=1), wg.ArrayLayer[tuple[L2]])
    assert_type(wg.take(x, j), wg.ArrayLayer[tuple[L3]])
    assert_type(table(i), wg.ArrayLayer[tuple[L3]])
    wg.cross_entropy(row, i)
    wg.cross_entropy(row, j, reduction="none")
    wg.cross_entropy(x, i)  # E[shape]: need labels of shape \(2,\), one a line; got \(\)$
