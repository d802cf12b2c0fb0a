"""Sums and products of everything up to a place along an axis, and differences of neighbours.

Knows: that the delta of a sum is the same sum from the other end; that a product of all before it can be put together
of products of 1, 2, 4, ... elements, so that its derivative divides by nothing and a zero does no harm.
Refuses to know: how the sums are computed.
"""

from __future__ import annotations

from typing import Any, Final

from wengert.arrays import HOST, Dv, T, Value, is_integer
from wengert.errors import ArgumentError
from wengert.graph.apply import apply
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.operand import operand, shown
from wengert.graph.operation import Operation, Rules
from wengert.ops.arithmetic import multiply, subtract
from wengert.ops.batching import along
from wengert.ops.families import composed
from wengert.ops.indexing import getitem
from wengert.ops.joining import concat
from wengert.ops.kinds import along_axis, ruled, shape_of_operand
from wengert_shapes import arrangement


def _delta(c: Value, g: Value, y: Value, x: Value, *, axis: int) -> Value:
    return c.xp.flip(c.xp.cumsum(c.xp.flip(g, axis=axis), axis=axis), axis=axis)


CUMULATIVE_SUM: Final = Operation(
    "cumulative_sum",
    Rules(along_axis, lambda c, x, *, axis: c.xp.cumsum(x, axis=axis), (_delta,), batch=along, pure=True),
)


def _part(x: Any, axis: int, begin: int, end: int) -> Any:  # Any: an array or a layer
    """The slices from `begin` to `end` along an axis."""
    return getitem(x, (*(slice(None),) * axis, slice(begin, end)))


def _constant(x: Any, shape: tuple[int, ...], value: float) -> Any:  # Any: an array or a layer
    """A constant of the element type of x."""
    return HOST.full(shape, value, operand(x)[1].dtype)


def _begun(x: Any, whole: Any, axis: int, value: float) -> Any:  # Any: an array or a layer
    """Running sums or products, behind the value that they begin with."""
    shape = list(shape_of_operand(x))
    shape[axis] = 1
    return concat([_constant(x, tuple(shape), value), whole], axis=axis)


def cumulative_sum(
    x: ArrayExpression[Any, T, Dv], /, *, axis: int = -1, include_initial: bool = False
) -> ArrayLayer[Any, T, Dv]:
    """The sums of all elements up to each one, along an axis; before them 0 with `include_initial`.

    Derivative: the sums of g from each element on.
    Shapes: that of x, with `include_initial` one element more. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> cumulative_sum(np.array([1.0, 2.0, 3.0])).predict().run().tolist()
    [1.0, 3.0, 6.0]

    Source: Python array API standard, `cumulative_sum`.
    """
    layer: ArrayLayer[Any, T, Dv] = apply(CUMULATIVE_SUM, (x,), (("axis", axis),))
    return _begun(x, layer, axis, 0.0) if include_initial else layer


@composed
def cumulative_prod(
    x: ArrayExpression[Any, T, Dv], /, *, axis: int = -1, include_initial: bool = False
) -> ArrayLayer[Any, T, Dv]:
    """The products of all elements up to each one, along an axis; before them 1 with `include_initial`.

    Derivative: for each element the sum over all products that it is in, of g times the others; zeros do no harm.
    Shapes: that of x, with `include_initial` one element more. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> cumulative_prod(np.array([2.0, 3.0, 4.0])).predict().run().tolist()
    [2.0, 6.0, 24.0]

    Source: Python array API standard, `cumulative_prod`; the steps are those of W. Hillis, G. Steele, "Data Parallel
    Algorithms", 1986.
    """
    shape = ruled(arrangement.longer, [shape_of_operand(x)], 0, axis)
    at, made, step = axis % len(shape), multiply(x, 1.0), 1
    while step < shape[at]:
        ones = _constant(x, (*shape[:at], step, *shape[at + 1 :]), 1.0)
        made = multiply(made, concat([ones, _part(made, at, 0, shape[at] - step)], axis=at))
        step *= 2
    return _begun(x, made, at, 1.0) if include_initial else made


@composed
def diff(
    x: ArrayExpression[Any, T, Dv],
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: ArrayExpression[Any, T, Dv] | None = None,
    append: ArrayExpression[Any, T, Dv] | None = None,
) -> ArrayLayer[Any, T, Dv]:
    """The differences of neighbours along an axis, n times over; `prepend` and `append` stand before and behind x.

    Derivative: the negative difference of g, with 0 at both ends.
    Shapes: n elements fewer along the axis. Raises ShapeError for an axis out of range, ArgumentError for a negative n.
    >>> import numpy as np
    >>> diff(np.array([1.0, 3.0, 7.0])).predict().run().tolist()
    [2.0, 4.0]

    Source: Python array API standard, `diff`.
    """
    if not is_integer(n) or int(n) < 0:
        raise ArgumentError(f"n is a number of times, 0 or more; got {shown(n)}")
    parts = [part for part in (prepend, x, append) if part is not None]
    whole: Any = concat(parts, axis=axis) if len(parts) > 1 else x  # Any: an array or a layer
    shape = ruled(arrangement.longer, [shape_of_operand(whole)], 0, axis)
    at = axis % len(shape)
    for size in range(shape[at], max(shape[at] - int(n), 0), -1):
        whole = subtract(_part(whole, at, 1, size), _part(whole, at, 0, size - 1))
    made: ArrayLayer[Any, T, Dv] = multiply(whole, 1.0) if n == 0 or not shape[at] else whole
    return made


cumsum = cumulative_sum  # the name in programs written for numpy
