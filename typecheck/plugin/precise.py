"""Shapes that are kept: numpy's rank, lists of unknown length, unions, `*shape`, roots, masks, partial calls."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, TypeVar, assert_type

import numpy as np
import numpy.typing as npt
from given import L1, L2, L3, L4, L8, Batch, data, named, settings, unknown, x
from typing_extensions import TypeVarTuple

import wengert as wg
from wengert.nn import Linear

Others = TypeVarTuple("Others")
B = TypeVar("B", bound=int)
Images = np.ndarray[tuple[int, int, int], np.dtype[np.float32]]
Line = np.ndarray[tuple[int], np.dtype[np.float32]]
Sequence = wg.ArrayLayer[tuple[Batch, int, L8]]
Column = wg.ArrayLayer[tuple[Batch, L1]]


class Time(int):
    """A named dimension."""


Scores = wg.ArrayLayer[tuple[Batch, L2, Time, Time]]


def case_the_rank_of_numpys_arrays(images: Images) -> None:  # T70
    assert_type(wg.lift(images), wg.ArrayLayer[tuple[Any, Any, Any]])
    layer = Linear.make(settings, 784, 10, seed=0)
    answer: wg.ArrayLayer[tuple[Batch, Any]] = layer(images)  # E[assignment]: \[Any, Any, Lit
    assert_type(answer, wg.ArrayLayer[tuple[Batch, Any]])


def case_a_column_less_a_line(answer: Column, y: Line) -> None:  # T71
    assert_type(wg.squeeze(answer, axis=1) - y, wg.ArrayLayer[tuple[Batch]])
    (answer - y)  # E[shape]: would broadcast to \(Batch, \?\)


def case_lists_of_unknown_length(steps: Sequence, n: int) -> None:  # T76
    outs = [steps[:, t] for t in range(n)]
    assert_type(wg.stack(outs, axis=1), wg.ArrayLayer[tuple[Batch, Any, L8]])
    assert_type(wg.stack([*outs, steps[:, 0]], axis=0), wg.ArrayLayer[tuple[Any, Batch, L8]])
    assert_type(wg.concat([*outs, *outs], axis=1), wg.ArrayLayer[tuple[Batch, Any]])
    assert_type(wg.stack([outs[0], wg.lift(data)], axis=0), wg.ArrayLayer[tuple[L2, Batch, L8]])
    assert_type(wg.concat([outs[0], wg.lift(data)], axis=1), wg.ArrayLayer[tuple[Batch, Any]])
    wg.stack([*outs, x], axis=0)  # E[shape]: ^stack: shapes \(Batch, 8\) and \(2, 3\) differ$
    wg.concat([*outs], axis=2)  # E[shape]: axis 2 is out of range for shape \(Batch, 8\)


def case_unions(
    one: wg.ArrayLayer[tuple[L3]], many: list[wg.ArrayWeight[tuple[L3]]], flag: bool
) -> None:  # T71
    some = x if flag else one
    assert_type(some * x, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.multiply(x, some), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.relu(some), wg.ArrayLayer[tuple[L2, L3]] | wg.ArrayLayer[tuple[L3]])
    assert_type(wg.sum(x) + sum(wg.sum(w * w) for w in many), wg.ArrayLayer[tuple[()]])
    assert_type(wg.sum(x) + sum(w * w for w in many), wg.ArrayLayer[tuple[L3]])
    wg.matmul(named, some)  # E[shape]: inner dimensions 3 and 2 differ


def case_a_shape_in_the_arguments(noise: npt.NDArray[np.float32]) -> None:  # T70
    assert_type(wg.literal(noise, *named.shape), wg.ArrayLayer[tuple[Batch, L3]])
    assert_type(wg.literal(noise, *named.shape, 1), wg.ArrayLayer[tuple[Batch, L3, L1]])
    assert_type(settings.array_weight(noise, *x.shape), wg.ArrayWeight[tuple[L2, L3]])
    assert_type(wg.literal(noise, *unknown.shape), wg.ArrayLayer)
    named @ wg.literal(noise, *named.shape)  # E[shape]: inner dimensions 3 and Batch differ


def case_roots(width: int) -> None:  # T71
    assert_type(x / width**0.5, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(width**-0.5 * x, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(x / np.sqrt(width), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.divide(x, math.sqrt(width)), wg.ArrayLayer[tuple[L2, L3]])
    (x / width**0.5) @ x  # E[shape]: cannot multiply \(2, 3\) by \(2, 3\)
    (x / np.sqrt(width)) @ x  # E[shape]: cannot multiply \(2, 3\) by \(2, 3\)


def case_masks_of_numpy(scores: Scores, n: int) -> None:  # T82
    causal = np.ones((n, n), np.bool)
    assert_type(wg.where(causal, scores, -1e9), Scores)
    wg.where(np.ones((n, n), np.bool), scores, -1e9) @ x  # E[shape]: inner dimensions Time and 2 differ


def case_comparisons(s: wg.ArrayLayer, i: wg.Indices, anything: Any) -> None:
    floats, labels = np.ones((4, 5), np.float32), np.ones(3, np.int64)
    wg.less(s, floats)
    wg.less(floats, s)
    wg.less(anything, floats)
    wg.less(anything, labels)
    assert_type(wg.equal(i, labels), wg.Mask[Any, wg.Cpu])
    assert_type(wg.less(labels, i), wg.Mask[Any, wg.Cpu])
    wg.less(s, labels)  # E[not-differentiable]: write x.astype\(numpy.float32\)
    wg.less(i, floats)  # E[arg-type]: expected "IntegerArray


def case_partial_calls() -> None:  # T73
    rows = partial(wg.sum, axis=1)
    assert_type(rows(x), wg.ArrayLayer[tuple[L2]])
    assert_type(rows(x, keepdims=True), wg.ArrayLayer[tuple[L2, L1]])
    assert_type(partial(wg.softmax, axis=-1)(named), wg.ArrayLayer[tuple[Batch, L3]])
    assert_type(partial(wg.multiply, 2.0)(x), wg.ArrayLayer[tuple[L2, L3]])
    times = partial(wg.matmul, x)
    times(x)  # E[shape]: cannot multiply \(2, 3\) by \(2, 3\)
    partial(wg.softmax, axis=2)(x)  # E[shape]: axis 2 is out of range for shape \(2, 3\)


def case_partial_calls_of_other_functions() -> None:
    def own(a: int, b: str) -> float:
        return a * len(b)

    assert_type(partial(own, 1)("b"), float)
    partial(own, 1)(2)  # E[arg-type]


def first(x: wg.ArrayLayer[tuple[B, *Others]]) -> wg.ArrayLayer[tuple[*Others]]:
    return wg.mean(x, axis=0)


def case_any_number_of_axes() -> None:  # T73
    assert_type(first(x), wg.ArrayLayer[tuple[L3]])
    assert_type(first(named), wg.ArrayLayer[tuple[L3]])
    first(first(x)) + wg.literal(data, 4)
    first(x) + wg.literal(data, 4)  # E[shape]: shapes \(3,\) and \(4,\) do not broadcast


def case_integers(table: wg.ArrayWeight[tuple[L4, L8]], words: npt.NDArray[np.int64], t: Line) -> None:  # T70
    assert_type(wg.take(table, np.zeros(3, np.int64)), wg.ArrayLayer[tuple[Any, L8]])
    assert_type(table[words[:, None]], wg.ArrayLayer)
    wg.take(table, words.astype(np.float32))  # E[dtype]: ^take: indices are integers
    wg.take(table, np.zeros(3, np.float64))  # E[dtype]: ^take: indices are integers, not float64
    table[t, 0]  # E[dtype]: ^getitem: indices are integers, not float32
    wg.cross_entropy(x, np.zeros(2))  # E[dtype]: ^cross_entropy: labels are integers, not float64
