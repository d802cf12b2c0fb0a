"""Counts and ranks of predictions beside labels: what metrics are made of.

Knows: numpy; that arrays of a GPU come to the host for it.
Refuses to know: which metric a number is for.

Not among the names of `wengert.arrays`: only metrics ask for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.arrays.values import host_array

__all__ = ["area", "counted", "floats", "hits", "labels_of", "moments"]

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]


def floats(x: Any) -> Vector:  # Any: whatever numpy makes an array of
    """Numbers in one line, as doubles."""
    made: Vector = np.asarray(host_array(x), np.float64).reshape(-1)
    return made


def labels_of(x: Any) -> Any:  # Any: as above; integers in one line
    """Classes in one line: integers as they are, of scores the place of the greatest in each row."""
    x = np.asarray(host_array(x))
    return x.argmax(axis=-1).reshape(-1) if x.dtype.kind == "f" else x.reshape(-1).astype(np.int64)


def hits(scores: Any, labels: Any, k: int) -> tuple[int, int]:  # Any: as above
    """Number of rows in which fewer than k scores are above that of the label, ties counted by place; and of rows."""
    scores, labels = np.asarray(host_array(scores)), labels_of(labels)
    rows = scores.reshape(-1, scores.shape[-1])
    own = np.take_along_axis(rows, labels[:, None], axis=1)
    places = np.arange(rows.shape[1])
    before = (rows > own) | ((rows == own) & (places < labels[:, None]))
    return int(np.count_nonzero(before.sum(axis=1) < k)), len(rows)


def counted(predicted: Any, labels: Any, classes: int) -> tuple[tuple[int, ...], ...]:  # Any: integers
    """A matrix of counts, a row a label and a column a prediction."""
    flat = np.bincount(labels * classes + predicted, minlength=classes * classes)
    return tuple(map(tuple, flat.reshape(classes, classes).tolist()))


def area(scores: Vector, positive: Vector) -> float:
    """The share of pairs of a positive and a negative whose scores are in order, half of those that are equal."""
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2.0)[place]
    p = float(positive.sum())
    n = len(scores) - p
    return float(((ranks * positive).sum() - p * (p + 1.0) / 2.0) / (p * n)) if p and n else float("nan")


def moments(predicted: Vector, y: Vector) -> tuple[float, float, float]:
    """The mean of y, the sum of squares about it, and that of the errors of the predictions."""
    mean = float(y.mean()) if len(y) else 0.0
    return mean, float(np.sum((y - mean) ** 2)), float(np.sum((y - predicted) ** 2))
