"""Arrays and numbers as one vector of doubles, and back.

Knows: numpy; shapes and dtypes of the arrays that a vector is of.
Refuses to know: what a vector is for.

Not among the names of `wengert.arrays`: only those who minimize a function of one vector ask for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.arrays.namespace import Value
from wengert.arrays.values import host_array

__all__ = ["Vector", "as_vector", "from_vector"]

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]


def as_vector(values: Sequence[Value]) -> Vector:
    """All numbers in one line.

    >>> as_vector([1.0, np.ones((1, 2), np.float32)]).tolist()
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
