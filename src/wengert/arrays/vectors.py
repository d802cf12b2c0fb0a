"""Numbers as one vector of doubles, and what is counted of predictions beside labels.

Knows: numpy; shapes and dtypes of the arrays that a vector is of; that arrays of a GPU come to the host for it.
Refuses to know: what a vector is for, and which metric a number is for.

Not among the names of `wengert.arrays`: only metrics, and who minimizes a function of one vector, ask for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.arrays.namespace import Value
from wengert.arrays.values import host_array

__all__ = ["Vector", "area", "as_vector", "counted", "from_vector", "hits", "labels_of", "moments"]

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]


def as_vector(*values: Value) -> Vector:
    """All numbers in one line.

    >>> as_vector(1.0, np.ones((1, 2), np.float32)).tolist()
    [1.0, 1.0, 1.0]
    """
    made: Vector = np.concatenate([np.asarray(host_array(x), np.float64).reshape(-1) for x in values])
    return made


def from_vector(vector: Vector, like: Sequence[Value]) -> list[Value]:
    """Values of the shapes and dtypes of `like`.

    >>> from_vector(np.arange(3.0), [1.0, np.ones((1, 2), np.float32)])
    [0.0, array([[1., 2.]], dtype=float32)]
    """
    made: list[Value] = []
    start = 0
    for x in like:
        shape = np.shape(x)
        size = int(np.prod(shape))
        part = vector[start : start + size]
        start += size
        made.append(part.reshape(shape).astype(x.dtype) if isinstance(x, np.ndarray) else type(x)(part[0]))
    return made


def labels_of(x: Any) -> Any:  # Any: whatever numpy makes an array of; integers in one line
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
