"""`summary`: the weights and buffers of a model as a table, and how many numbers they hold.

Knows: how a table is written.
Refuses to know: what a model computes, and where in it weights are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from wengert.arrays import Narrow, dtype_of, shape_of
from wengert.delta import Parameter
from wengert.graph.weights import Buffer, Weight, data_of
from wengert.models import weights_and_buffers


def summary(model: object) -> str:
    """A line a weight or buffer with its place, shape, dtype and number of elements, and a line with the sums of each.

    >>> from wengert.nn import BatchNorm, Linear
    >>> from wengert.plugins import SGD
    >>> settings = SGD(learning_rate=0.1)
    >>> print(summary({"body": Linear.make(settings, 784, 64, seed=0), "norm": BatchNorm.make(settings, 64)}))
    body.weight    (784, 64)  float32  50,176
    body.bias      (64,)      float32      64
    norm.scale     (64,)      float32      64
    norm.offset    (64,)      float32      64
    norm.mean      (64,)      float32      64  buffer
    norm.variance  (64,)      float32      64  buffer
    4 weights, 50,368 elements, 201,472 bytes
    2 buffers, 128 elements, 512 bytes
    """
    found = weights_and_buffers(model)
    forms = {place: _form(w) for place, w in found.items()}
    rows = [(place, str(shape), dtype, f"{prod(shape):,}") for place, (shape, dtype, _) in forms.items()]
    places, shapes, dtypes, counts = (max((len(row[i]) for row in rows), default=0) for i in range(4))
    marks = ["  buffer" if isinstance(w, Buffer) else "" for w in found.values()]
    lines = [
        f"{a:{places}}  {b:{shapes}}  {c:{dtypes}}  {d:>{counts}}{mark}"
        for (a, b, c, d), mark in zip(rows, marks, strict=True)
    ]
    kept = [forms[place] for place, w in found.items() if isinstance(w, Buffer)]
    trained = [forms[place] for place, w in found.items() if not isinstance(w, Buffer)]
    return "\n".join([*lines, _sums("weights", trained), *([_sums("buffers", kept)] if kept else [])])


def _form(of: Weight) -> tuple[tuple[int, ...], str, int]:
    """Shape, element type, and bytes an element."""
    x = of.ref.data
    if isinstance(x, Narrow):
        return x.shape, x.dtype, 2
    array = x.to_array() if isinstance(x, Parameter) else data_of(of)
    return shape_of(array), str(dtype_of(array)), dtype_of(array).itemsize


def _sums(what: str, forms: Sequence[tuple[tuple[int, ...], str, int]]) -> str:
    elements = sum(prod(shape) for shape, *_ in forms)
    size = sum(prod(shape) * each for shape, _, each in forms)
    return f"{len(forms)} {what}, {elements:,} elements, {size:,} bytes"
