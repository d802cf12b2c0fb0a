"""Choice of the greatest elements: places as integers, which have no derivative, and the elements, which have one.

Knows: that a place does not change where an element changes a little, so that no delta passes it; that equal elements
are chosen in their order, and NaN counts as the greatest, as numpy has it.
Refuses to know: how lines are sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from wengert.arrays import INTEGER, Dv, T, is_integer
from wengert.errors import ArgumentError, ShapeError
from wengert.graph.apply import apply
from wengert.graph.detached import Indices
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, kind
from wengert.graph.operation import Operation, Rules
from wengert.ops.batching import along, reduced
from wengert.ops.families import reduced_by
from wengert.ops.indexing import take_along_axis
from wengert.ops.kinds import array_of, axes_in, axis_in, reduced_shape, ruled
from wengert_shapes import arrangement

Value = Any  # arrays, or expressions: a rule is written once for both


def _infer_argmax(kinds: Sequence[Kind], *, axis: int | None = None, keepdims: bool = False) -> Kind:
    shape, _, device = array_of(kinds)
    if not (axis is None or is_integer(axis)):
        raise ArgumentError(f"an axis is an integer, or None for all of them; got {axis!r:.60}")
    if shape is None:
        return kind(Column.INDEX, None, INTEGER, device)
    at = None if axis is None else int(axis)
    if any(shape[a] == 0 for a in axes_in(at, shape)):
        raise ShapeError(f"no element to choose from along axis {axis} of shape {shape}")
    return kind(Column.INDEX, reduced_shape(shape, at, keepdims), INTEGER, device)


ARGMAX: Final = Operation(
    "argmax",
    Rules(
        _infer_argmax,
        lambda c, x, *, axis=None, keepdims=False: c.xp.argmax(x, axis=axis, keepdims=keepdims),
        detached=True,
        batch=reduced,
        pure=True,
    ),
)


def argmax(
    x: ArrayExpression[Any, T, Dv], /, *, axis: int | None = None, keepdims: bool = False
) -> Indices[Any, Dv]:
    """The place of the greatest element along an axis, or in the array as one line; of equal ones the first.

    Derivative: none; nothing below gets a delta.
    Shapes: the axis goes, or stays as 1 with keepdims; integers. Raises ShapeError for an axis out of range or
    without elements.
    >>> import numpy as np
    >>> argmax(np.array([[1.0, 3.0, 2.0], [6.0, 4.0, 5.0]]), axis=1).predict().run().tolist()
    [1, 0]

    Source: Python array API standard, `argmax`.
    """
    places: Indices[Any, Dv] = apply(ARGMAX, (x,), reduced_by(axis, keepdims))
    return places


def _infer_top(kinds: Sequence[Kind], *, k: int, axis: int) -> Kind:
    shape, _, device = array_of(kinds)
    if not is_integer(k) or int(k) < 0:
        raise ArgumentError(f"k is a number of elements, 0 or more; got {k!r:.60}")
    if shape is None:
        return kind(Column.INDEX, None, INTEGER, device)
    axis_in(axis, len(shape), shape)
    return kind(Column.INDEX, ruled(lambda x: arrangement.chosen(x, int(k), axis), [shape]), INTEGER, device)


TOP_K: Final = Operation(  # the places; `top_k` gives the elements with them
    "top_k",
    Rules(_infer_top, lambda c, x, *, k, axis: c.xp.top_k(x, k, axis), detached=True, batch=along, pure=True),
)


def top_k(
    x: ArrayExpression[Any, T, Dv], k: int, /, *, axis: int = -1
) -> tuple[ArrayLayer[Any, T, Dv], Indices[Any, Dv]]:
    """The k greatest elements along an axis, the greatest first, and their places.

    Derivative: that of `take_along_axis`, g added at the places; none through the places.
    Shapes: `axis` gets the size k, in both. Raises ShapeError for an axis out of range or shorter than k,
    ArgumentError for a k that is no number of elements.
    >>> import numpy as np
    >>> elements, places = top_k(np.array([1.0, 3.0, 2.0]), 2)
    >>> elements.predict().run().tolist(), places.predict().run().tolist()
    ([3.0, 2.0], [1, 2])

    Source: PyTorch, `torch.topk`; JAX, `jax.lax.top_k`.
    """
    places: Indices[Any, Dv] = apply(TOP_K, (x,), (("k", k), ("axis", axis)))
    return take_along_axis(x, places, axis=axis), places
