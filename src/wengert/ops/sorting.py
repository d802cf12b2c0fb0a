"""Order: sorted lines, the places that sort them, places in a sorted line, the greatest elements, those that are not 0.

Knows: that a place does not change where an element changes a little, so that no delta passes it; that equal elements
keep their order, and that NaN counts as the greatest, as numpy has it.
Refuses to know: how lines are sorted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Literal

from wengert.arrays import FLOAT32, INTEGER, Axis, Dv, Float32, T, Value, is_integer
from wengert.errors import ArgumentError, ShapeError
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.detached import IndexExpression, Indices, Mask
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.index import indices
from wengert.graph.kinds import Column, Kind, kind
from wengert.graph.operand import shown
from wengert.graph.operation import Operation, Rules
from wengert.ops import kinds
from wengert.ops.arithmetic import negative
from wengert.ops.backward import one_hot as hot
from wengert.ops.batching import all_stacked, along, reduced
from wengert.ops.families import composed, reduced_by
from wengert.ops.indexing import take_along_axis
from wengert.ops.kinds import array_of, axes_in, axis_in, reduced_shape, ruled, shape_of_operand
from wengert.site import user_position
from wengert_shapes import arrangement


@composed
def argmin(
    x: ArrayExpression[Any, T, Dv], /, *, axis: int | None = None, keepdims: bool = False
) -> Indices[Any, Dv]:
    """The place of the smallest element along an axis, or in the array as one line; of equal ones the first.

    Derivative: none; nothing below gets a delta.
    Shapes: the axis goes, or stays as 1 with keepdims; integers. Raises ShapeError for an axis out of range or
    without elements.
    >>> import numpy as np
    >>> argmin(np.array([[1.0, 3.0, 2.0], [6.0, 4.0, 5.0]]), axis=1).predict().run().tolist()
    [0, 1]

    Source: Python array API standard, `argmin`.
    """
    turned: Any = negative(x)  # Any: as x
    places: Indices[Any, Dv] = argmax(turned, axis=axis, keepdims=keepdims)
    return places


def _infer_places(operands: Sequence[Kind], *, axis: int, descending: bool) -> Kind:
    of = kinds.along_axis(operands, axis=axis)
    return kind(Column.INDEX, of.shape, INTEGER, of.device)


def _places(c: Value, x: Value, *, axis: int, descending: bool) -> Value:
    return c.xp.top_k(x, c.shape(0)[axis], axis) if descending else c.xp.argsort(x, axis=axis)


ARGSORT: Final = Operation("argsort", Rules(_infer_places, _places, detached=True, batch=along, pure=True))


def argsort(
    x: ArrayExpression[Any, T, Dv], /, *, axis: int = -1, descending: bool = False
) -> Indices[Any, Dv]:
    """The places of the elements of each line along an axis, in the order of the elements; equal ones keep theirs.

    Derivative: none; nothing below gets a delta.
    Shapes: that of x; integers. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> argsort(np.array([3.0, 1.0, 2.0])).predict().run().tolist()
    [1, 2, 0]

    Source: Python array API standard, `argsort`.
    """
    given = (("axis", axis), ("descending", bool(descending)))
    places: Indices[Any, Dv] = apply(ARGSORT, (x,), given)
    return places


@composed
def sort(
    x: ArrayExpression[Any, T, Dv], /, *, axis: int = -1, descending: bool = False
) -> ArrayLayer[Any, T, Dv]:
    """The elements of each line along an axis in their order.

    Derivative: g of each element, at the place where the element was.
    Shapes: that of x. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> sort(np.array([3.0, 1.0, 2.0])).predict().run().tolist()
    [1.0, 2.0, 3.0]

    Source: Python array API standard, `sort`.
    """
    return take_along_axis(x, argsort(x, axis=axis, descending=descending), axis=axis)


def _infer_searched(operands: Sequence[Kind], *, side: str) -> Kind:
    _, _, device = kinds.common(operands)
    line, wanted = operands
    if line.shape is not None:
        kinds.ruled(arrangement.vector, [line.shape])
    return kind(Column.INDEX, wanted.shape, INTEGER, device)


def _rows_searched(c: Value, line: Value, x: Value, *, side: str) -> Value:
    """The number of elements before each one: NaN is behind all others."""
    xp, n = c.xp, line.shape[-1]
    line = xp.reshape(line, (line.shape[0], *(1,) * (len(x.shape) - 1), n))
    x = xp.reshape(x, (*x.shape, 1))
    unordered = xp.not_equal(x, x)
    if side == "left":
        before = xp.logical_or(xp.less(line, x), xp.logical_and(unordered, xp.equal(line, line)))
    else:
        before = xp.logical_or(xp.less_equal(line, x), unordered)
    return xp.sum(xp.astype(before, INTEGER), axis=-1)


SEARCHSORTED_ROWS: Final = Operation(  # each row in a line of its own
    "searchsorted_rows",
    Rules(
        lambda operands, *, side: kind(Column.INDEX, operands[1].shape, INTEGER, operands[1].device),
        _rows_searched,
        detached=True,
        pure=True,
    ),
    listed=False,
)


def _batched_search(b: Batch, line: Value, x: Value, *, side: str) -> Value:
    if not b.stacked[0]:
        return b.again(line, x, side=side)
    return apply(SEARCHSORTED_ROWS, tuple(all_stacked(b, (line, x))), (("side", side),))


SEARCHSORTED: Final = Operation(
    "searchsorted",
    Rules(
        _infer_searched,
        lambda c, line, x, *, side: c.xp.searchsorted(line, x, side),
        detached=True,
        batch=_batched_search,
        pure=True,
    ),
)


def searchsorted(
    x1: ArrayExpression[Any, T, Dv],
    x2: ArrayExpression[Any, T, Dv],
    /,
    *,
    side: Literal["left", "right"] = "left",
) -> Indices[Any, Dv]:
    """The place in the sorted vector x1 before which each element of x2 belongs; of equal ones the first, or the last.

    Derivative: none; nothing below gets a delta.
    Shapes: that of x2; integers. Raises ShapeError for an x1 that is no vector, ArgumentError for another side.
    >>> import numpy as np
    >>> searchsorted(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.5])).predict().run().tolist()
    [1, 2]

    Source: Python array API standard, `searchsorted`.
    """
    if side not in ("left", "right"):
        raise ArgumentError(
            f'searchsorted: side is "left" or "right"; got {shown(side)}\n  at {user_position()}'
        )
    places: Indices[Any, Dv] = apply(SEARCHSORTED, (x1, x2), (("side", side),))
    return places


def _infer_count(operands: Sequence[Kind], *, axis: Axis = None, keepdims: bool = False) -> Kind:
    of = kinds.reduction(operands, axis=axis, keepdims=keepdims)
    return kind(Column.INDEX, of.shape, INTEGER, of.device)


def _count(c: Value, x: Value, *, axis: Axis = None, keepdims: bool = False) -> Value:
    return c.xp.sum(c.xp.astype(c.xp.not_equal(x, 0.0), INTEGER), axis=axis, keepdims=keepdims)


COUNT_NONZERO: Final = Operation(
    "count_nonzero", Rules(_infer_count, _count, detached=True, batch=reduced, pure=True)
)


def count_nonzero(
    x: ArrayExpression[Any, T, Dv], /, *, axis: Axis = None, keepdims: bool = False
) -> Indices[Any, Dv]:
    """The number of elements that are not 0 along some axes, all of them if None; NaN is not 0.

    Derivative: none; nothing below gets a delta.
    Shapes: the axes go, or stay as 1 with keepdims; integers. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> count_nonzero(np.array([[1.0, 0.0], [2.0, 3.0]]), axis=1).predict().run().tolist()
    [1, 2]

    Source: Python array API standard, `count_nonzero`.
    """
    counts: Indices[Any, Dv] = apply(COUNT_NONZERO, (x,), reduced_by(axis, keepdims))
    return counts


def _infer_nonzero(operands: Sequence[Kind], *, size: int, axis: int, rank: int) -> Kind:
    x = operands[0]
    shape, device = (x.shape, x.device) if x.column is Column.MASK else kinds.array_of(operands)[::2]
    if not is_integer(size) or int(size) < 0:
        raise ArgumentError(f"size is a number of elements, 0 or more; got {size!r:.60}")
    if shape is not None and math.prod(shape[len(shape) - rank :]) < int(size):
        raise ShapeError(f"size is {size}, and there are {math.prod(shape)} elements in shape {shape}")
    return kind(
        Column.INDEX, None if shape is None else (*shape[: len(shape) - rank], int(size)), INTEGER, device
    )


def _nonzero(c: Value, x: Value, *, size: int, axis: int, rank: int) -> Value:
    return c.xp.nonzero(x, size, axis, rank)


def _nonzero_rows(b: Batch, x: Value, *, size: int, axis: int, rank: int) -> Value:
    return b.again(x, size=size, axis=axis, rank=rank)  # an axis in front is of other arrays


NONZERO: Final = Operation(  # along one axis; `nonzero` gives the places along all
    "nonzero", Rules(_infer_nonzero, _nonzero, detached=True, batch=_nonzero_rows, pure=True)
)


def nonzero(
    x: Mask[Any, Dv] | ArrayExpression[Any, Any, Dv], /, *, size: int
) -> tuple[Indices[tuple[int], Dv], ...]:  # Any: of every shape and element type
    """The places of elements that are not 0, or where a mask is true: one vector an axis, in the order of the elements.

    There are `size` of them: a shape cannot depend on values. They select as an index, `x[nonzero(mask, size=2)]`.

    Derivative: none; nothing below gets a delta.
    Shapes: (size,), as many as x has axes; integers. Raises ShapeError for a number, for a size above that of x, and
    in the run where another number of elements is not 0; ArgumentError for a size that is no number of elements.
    >>> import numpy as np
    >>> import wengert as wg
    >>> x = np.array([[1.0, -3.0], [-2.0, 4.0]])
    >>> rows, columns = nonzero(wg.less(x, 0.0), size=2)
    >>> rows.predict().run().tolist(), columns.predict().run().tolist()
    ([0, 1], [1, 0])
    >>> wg.literal(x)[rows, columns].predict().run().tolist()
    [-3.0, -2.0]

    Source: Python array API standard, `nonzero`; JAX, `jax.numpy.nonzero`, which has `size`.
    """
    rank = len(shape_of_operand(x))
    if rank == 0:
        raise ShapeError(f"nonzero: a number has no axis and so no places\n  at {user_position()}")
    given = (("rank", rank), ("size", size))
    first: Indices[tuple[int], Dv] = apply(NONZERO, (x,), (("axis", 0), *given))
    whole = first.operands  # as in `split`
    return (first, *(apply(NONZERO, whole, (("axis", axis), *given)) for axis in range(1, rank)))


# Any: the shape, and the device of the labels
@composed
def one_hot(labels: IndexExpression, num_classes: int, /) -> ArrayLayer[Any, Float32, Any]:
    """1 at each label along a new last axis, 0 elsewhere, in float32.

    Derivative: none; labels have no delta.
    Shapes: that of the labels, and num_classes behind it. Raises ArgumentError for a negative number of classes,
    DTypeError for labels that are no integers, IndexError in the run for a label out of range.
    >>> import numpy as np
    >>> one_hot(np.array([2, 0]), 3).predict().run().tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]

    Source: PyTorch, `torch.nn.functional.one_hot`; JAX, `jax.nn.one_hot`.
    """
    given: Any = indices(labels)  # Any: integers of every form
    if not is_integer(num_classes) or int(num_classes) < 0:
        raise ArgumentError(f"num_classes is 0 or more; got {shown(num_classes)}")
    made: ArrayLayer[Any, Float32, Any] = hot(given, int(num_classes), FLOAT32)
    return made


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
