"""Parts, orders and places: split, flip, roll, take_along_axis, cumulative_sum, clip and the like (T75, T76)."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
from given import L1, L2, L3, L4, L5, L6, Batch, batched, count, data, named, row, w, x

import wengert as wg

Shape23 = wg.ArrayLayer[tuple[L2, L3]]


def case_split() -> None:  # T76
    assert_type(wg.split(wg.literal(data, 6, 3), 3), tuple[Shape23, Shape23, Shape23])
    left, right = wg.split(w, 2, axis=1)
    assert_type(left, wg.ArrayLayer[tuple[L3, L2]])
    assert_type(left @ right[:2], wg.ArrayLayer[tuple[L3, L2]])
    assert_type(wg.split(named, 3, axis=-1)[2], wg.ArrayLayer[tuple[Batch, L1]])


def case_split_at_places() -> None:  # T76
    first, rest = wg.split(w, (1,), axis=1)
    assert_type(first, wg.ArrayLayer[tuple[L3, L1]])
    assert_type(rest, wg.ArrayLayer[tuple[L3, L3]])


def case_split_of_unknown_number() -> None:  # T76, T79
    assert_type(wg.split(x, count()), tuple[wg.ArrayLayer[tuple[Any, L3]], ...])


def case_split_refused() -> None:  # T76
    wg.split(x, 2, axis=1)  # E[shape]: ^split: .* 3
    wg.split(x, 2, axis=2)  # E[shape]: ^split: axis 2 is out of range for shape \(2, 3\)
    _, _, _ = wg.split(x, 2)  # E[misc]: Need more than 2 values
    wg.split(x, "2")  # E: "str"


def case_flip_and_roll() -> None:  # T75
    assert_type(wg.flip(x), Shape23)
    assert_type(wg.flip(named, axis=1), wg.ArrayLayer[tuple[Batch, L3]])
    assert_type(wg.roll(x, 1), Shape23)
    assert_type(wg.roll(batched, (1, 2), axis=(0, 1)), wg.ArrayLayer[tuple[L5, L2, L3]])


def case_flip_and_roll_refused() -> None:  # T75
    wg.flip(x, axis=2)  # E[shape]: ^flip: axis 2 is out of range for shape \(2, 3\)
    wg.roll(x, 1, axis=2)  # E[shape]: ^roll: axis 2 is out of range for shape \(2, 3\)
    wg.roll(x, (1, 2), axis=0)  # E[shape]: ^roll:


def case_take_along_axis(places: npt.NDArray[np.int64]) -> None:  # T76
    flat: np.ndarray[tuple[int, int], np.dtype[np.int64]] = np.zeros((2, 1), np.int64)
    assert_type(wg.take_along_axis(x, flat, axis=1).dtype, np.dtype[np.float32])
    wg.take_along_axis(x, flat, axis=2)  # E[shape]: ^take_along_axis: axis 2 is out of range for shape \(2,
    wg.take_along_axis(batched, flat)  # E[shape]: ^take_along_axis:


def case_segment_sum() -> None:  # T76
    assert_type(wg.segment_sum(x, [0, 4], num_segments=5), wg.ArrayLayer[tuple[L5, L3]])
    wg.segment_sum(batched, [0, 4], num_segments=5)  # E[shape]: ^segment_sum: segment ids of shape \(2,\)
    wg.segment_sum(x, [0, 4])  # E: "num_segments"


def case_choices() -> None:  # T76
    best = wg.argmax(x, axis=1)
    assert_type(best, wg.Indices[tuple[L2]])
    assert_type(wg.take(x, best), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.top_k(x, 2), tuple[wg.ArrayLayer[tuple[L2, L2]], wg.Indices[tuple[L2, L2]]])
    wg.argmax(x, axis=2)  # E[shape]: ^argmax: axis 2 is out of range for shape \(2, 3\)
    wg.top_k(x, 4)  # E[shape]: ^top_k: the 4 greatest along axis -1 of shape \(2, 3\): there are only 3
    best + 1.0  # E: Unsupported operand types for \+
    rows, _ = wg.nonzero(wg.less(x, 0.0), size=2)
    assert_type(rows, wg.Indices[tuple[L2]])
    wg.nonzero(x)  # E: "size"


def case_running_sums() -> None:  # T74
    assert_type(wg.cumulative_sum(x), Shape23)
    assert_type(wg.cumulative_sum(named, axis=0), wg.ArrayLayer[tuple[Batch, L3]])
    wg.cumulative_sum(x, axis=2)  # E[shape]: ^cumulative_sum: axis 2 is out of range for shape \(2, 3\)


def case_moments() -> None:  # T74
    assert_type(wg.var(x, axis=0), wg.ArrayLayer[tuple[L3]])
    assert_type(wg.std(named, axis=1, keepdims=True), wg.ArrayLayer[tuple[Batch, L1]])
    assert_type(wg.var(x, correction=1), wg.ArrayLayer[tuple[()]])
    wg.std(x, axis=2)  # E[shape]: ^std: axis 2 is out of range for shape \(2, 3\)
    wg.var(x, correction="one")  # E: "str"


def case_other_reductions() -> None:  # T74
    assert_type(wg.prod(x, axis=0), wg.ArrayLayer[tuple[L3]])
    assert_type(wg.logsumexp(x, axis=-1, keepdims=True), wg.ArrayLayer[tuple[L2, L1]])
    assert_type(x - wg.logsumexp(x, axis=-1, keepdims=True), Shape23)
    wg.logsumexp(x, axis=(0, 0))  # E[shape]: ^logsumexp: axes \(0, 0\) name one axis
    wg.prod(x, axis=-3)  # E[shape]: ^prod: axis -3 is out of range


def case_clip() -> None:  # T71
    assert_type(wg.clip(x, 0.0, 1.0), Shape23)
    assert_type(wg.clip(x, row, None), Shape23)
    assert_type(wg.clip(x, max=wg.literal(data, 2, 1)), Shape23)
    wg.clip(x, 0.0, w)  # E[shape]: ^clip: shapes \(2, 3\)


def case_activations() -> None:  # T71
    assert_type(wg.gelu(x), Shape23)
    assert_type(wg.silu(wg.softplus(named)), wg.ArrayLayer[tuple[Batch, L3]])
    assert_type(wg.erf(x) @ w, wg.ArrayLayer[tuple[L2, L4]])
    assert_type(wg.log1p(wg.expm1(wg.sin(wg.cos(x)))), Shape23)
    wg.gelu(w) @ x  # E[shape]: inner dimensions 4 and 2 differ


def case_dropout() -> None:  # T71
    assert_type(wg.dropout(x, 0.5, seed=1), Shape23)
    assert_type(wg.dropout(named, 0.1, seed=2) @ w, wg.ArrayLayer[tuple[Batch, L4]])
    wg.dropout(x, 0.5)  # E: seed
    wg.dropout(x, "half", seed=1)  # E: "str"


def case_other_dtypes() -> None:  # T37
    assert_type(wg.astype(x, np.float64), wg.ArrayLayer[tuple[L2, L3], np.float64])
    assert_type(wg.astype(wg.astype(named, np.float64), np.float32), wg.ArrayLayer[tuple[Batch, L3]])
    assert_type(wg.reshape(wg.astype(x, np.float64), (6,)), wg.ArrayLayer[tuple[L6], np.float64])
