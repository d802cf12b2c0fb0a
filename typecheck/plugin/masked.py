"""Shapes of masks, and of what they choose from (T81, T82)."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from given import L2, L3, L4, L5, Batch, data, named, row, unknown, w, x

import wengert as wg


def case_comparisons() -> None:  # T81
    assert_type(wg.greater(x, 0.0), wg.Mask[tuple[L2, L3]])
    assert_type(wg.equal(x, x), wg.Mask[tuple[L2, L3]])
    assert_type(wg.less_equal(named, row), wg.Mask[tuple[Batch, L3]])
    assert_type(wg.not_equal(x, unknown), wg.Mask[Any])


def case_logic() -> None:  # T81
    assert_type(wg.logical_not(wg.less(x, x)), wg.Mask[tuple[L2, L3]])
    assert_type(wg.logical_and(wg.less(x, x), wg.less(x, row)), wg.Mask[tuple[L2, L3]])
    assert_type(wg.logical_or(wg.less(row, 0.0), wg.less(x, 0.0)), wg.Mask[tuple[L2, L3]])


def case_where() -> None:  # T81
    mask = wg.greater(x, 0.0)
    assert_type(wg.where(mask, x, 0.0), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.where(mask, 0.0, row), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.where(wg.greater(row, 0.0), x, -x), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.where(mask, x, 0.0) @ w, wg.ArrayLayer[tuple[L2, L4]])


def case_comparisons_that_do_not_fit() -> None:  # T82
    wg.greater(x, w)  # E[shape]: ^greater: shapes \(2, 3\) and \(3, 4\) do not broadcast: 2 and 3 differ$
    wg.equal(named, x)  # E[shape]: ^equal: .* Batch and 2 differ$


def case_masks_that_do_not_fit() -> None:  # T82
    mask = wg.greater(x, 0.0)
    wg.where(mask, w, 0.0)  # E[shape]: ^where: shapes \(2, 3\) and \(3, 4\) do not broadcast: 2 and 3
    wg.where(mask, x, wg.literal(data, 2))  # E[shape]: ^where: shapes \(2, 3\) and \(2, 3\) and \(2,\)
    wg.logical_and(mask, wg.less(w, 0.0))  # E[shape]: ^logical_and: shapes \(2, 3\) and \(3, 4\)


def case_a_causal_mask() -> None:  # T81, T82
    times, scores = wg.literal(data, 5), wg.literal(data, Batch, 5, 5)
    causal = wg.greater_equal(times[:, None], times[None, :])
    masked = wg.where(causal, scores, -1e9)
    assert_type(masked, wg.ArrayLayer[tuple[Batch, L5, L5]])
    wg.where(wg.greater(wg.literal(data, 4, 4), 0.0), scores, -1e9)  # E[shape]: ^where: .* 4 and 5 differ$


def case_masks_that_are_data_as_indices() -> None:
    """Nobody knows how many places a mask chooses; the other axes keep their sizes."""
    rows, both = np.ones(2, np.bool), np.ones((2, 3), np.bool)
    assert_type(x[rows], wg.ArrayLayer[tuple[Any, L3]])
    assert_type(x[:, rows], wg.ArrayLayer[tuple[L2, Any]])
    assert_type(x[both], wg.ArrayLayer[tuple[Any]])
    assert_type(x[[True, False]], wg.ArrayLayer[Any])
    assert_type(x % 2.0, wg.ArrayLayer[tuple[L2, L3]])
    x[wg.greater(x, 0.0)]  # E[index]: Invalid index type "Mask
    x[rows] @ x  # E[shape]: cannot multiply \(\?, 3\) by \(2, 3\)
