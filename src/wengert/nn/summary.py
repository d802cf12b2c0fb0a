"""`summary`: the weights of a model as a table, and how many numbers they hold.

Knows: how a table is written.
Refuses to know: what a model computes, and where in it weights are.
"""

from __future__ import annotations

import math

from wengert.graph import Weight
from wengert.models import weights


def summary(model: object) -> str:
    """A line a weight with its place, shape, dtype and number of elements, and a line with the sums.

    >>> from wengert.nn import Linear
    >>> from wengert.plugins import SGD
    >>> print(summary(Linear.make(SGD(learning_rate=0.1), 784, 64, seed=0)))
    weight  (784, 64)  float32  50,176
    bias    (64,)      float32      64
    2 weights, 50,240 elements, 200,960 bytes
    """
    found = weights(model)
    rows = [(place, str(w.kind.shape), str(w.kind.dtype), f"{_count(w):,}") for place, w in found.items()]
    places, shapes, dtypes, counts = (max((len(row[i]) for row in rows), default=0) for i in range(4))
    lines = [f"{a:{places}}  {b:{shapes}}  {c:{dtypes}}  {d:>{counts}}" for a, b, c, d in rows]
    size = sum(_count(w) * w.kind.dtype.itemsize for w in found.values())
    elements = sum(map(_count, found.values()))
    return "\n".join([*lines, f"{len(found)} weights, {elements:,} elements, {size:,} bytes"])


def _count(w: Weight) -> int:
    return math.prod(w.kind.shape or ())
