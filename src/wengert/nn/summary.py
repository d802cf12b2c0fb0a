"""`summary`: the weights of a model as a table, and how many numbers they hold.

Knows: how a table is written.
Refuses to know: what a model computes, and where in it weights are.
"""

from __future__ import annotations

from math import prod

from wengert.arrays import dtype_of, shape_of
from wengert.delta import Parameter
from wengert.graph.weights import data_of
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
    data = {place: data_of(w) for place, w in found.items()}
    arrays = {place: x.to_array() if isinstance(x, Parameter) else x for place, x in data.items()}
    forms = {place: (shape_of(x), dtype_of(x)) for place, x in arrays.items()}
    rows = [(place, str(shape), str(dtype), f"{prod(shape):,}") for place, (shape, dtype) in forms.items()]
    places, shapes, dtypes, counts = (max((len(row[i]) for row in rows), default=0) for i in range(4))
    lines = [f"{a:{places}}  {b:{shapes}}  {c:{dtypes}}  {d:>{counts}}" for a, b, c, d in rows]
    size = sum(prod(shape) * dtype.itemsize for shape, dtype in forms.values())
    elements = sum(prod(shape) for shape, _ in forms.values())
    return "\n".join([*lines, f"{len(found)} weights, {elements:,} elements, {size:,} bytes"])
