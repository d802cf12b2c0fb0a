"""Operations that make an array larger by repeating it: repeat, tile, grids and common shapes.

Knows: that each is a choice of elements, a reshape or a broadcast, whose derivatives and batching rules serve it.
Refuses to know: derivatives.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from wengert.arrays import Dv, T, is_integer
from wengert.errors import ArgumentError
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Shape
from wengert.graph.operand import shown
from wengert.ops.families import composed
from wengert.ops.kinds import axis_in, broadcast_batch, integers, ruled, shape_of_operand
from wengert.ops.manipulation import broadcast_to, expand_dims, reshape
from wengert_shapes import arrangement
from wengert_shapes.algebra import number


@composed
def repeat(
    x: ArrayExpression[Any, T, Dv], repeats: int, /, *, axis: int | None = None
) -> ArrayLayer[Any, T, Dv]:
    """Each slice along an axis `repeats` times in a row; without an axis each element of the flattened array.

    Derivative: the sum of g over the copies.
    Shapes: the size of the axis is multiplied. Raises ShapeError for an axis out of range, ArgumentError for what is
    no number of copies; counts that differ from slice to slice are the indices of `take`.
    >>> import numpy as np
    >>> repeat(np.array([1.0, 2.0]), 2).predict().run().tolist()
    [1.0, 1.0, 2.0, 2.0]

    Source: Python array API standard, `repeat`.
    """
    if not is_integer(repeats) or int(repeats) < 0:
        raise ArgumentError(
            f"repeats is a number of copies, 0 or more; got {shown(repeats)}; for counts that differ write "
            f"take(x, numpy.repeat(numpy.arange(n), counts), axis=axis)"
        )
    count, shape = int(repeats), shape_of_operand(x)
    made = ruled(arrangement.repeated, [shape], number(count), axis)
    if axis is None:
        x, shape, axis = reshape(x, (-1,)), (math.prod(shape),), 0
    at = axis_in(axis, len(shape), shape)
    apart: Any = expand_dims(x, at + 1)  # Any: as x
    wide: Any = broadcast_to(apart, (*shape[: at + 1], count, *shape[at + 1 :]))
    return reshape(wide, made)


@composed
def tile(x: ArrayExpression[Any, T, Dv], repetitions: int | tuple[int, ...], /) -> ArrayLayer[Any, T, Dv]:
    """The array as a whole, repeated along each axis; fewer numbers than axes are for the last ones.

    Derivative: the sum of g over the copies.
    Shapes: each size is multiplied; there are as many axes as numbers at least. Raises ArgumentError for a negative
    number.
    >>> import numpy as np
    >>> tile(np.array([1.0, 2.0]), 2).predict().run().tolist()
    [1.0, 2.0, 1.0, 2.0]

    Source: Python array API standard, `tile`.
    """
    counts, shape = integers(repetitions, "tile"), shape_of_operand(x)
    if any(n < 0 for n in counts):
        raise ArgumentError(f"repetitions are 0 or more; got {counts}")
    made = ruled(arrangement.tiled, [shape], tuple(map(number, counts)))
    rank = len(made)
    sizes: Shape = (1,) * (rank - len(shape)) + shape
    times = (1,) * (rank - len(counts)) + counts
    apart: Any = reshape(x, tuple(n for size in sizes for n in (1, size)))
    wide: Any = broadcast_to(apart, tuple(n for pair in zip(times, sizes, strict=True) for n in pair))
    return reshape(wide, made)


@composed
def broadcast_arrays(*arrays: ArrayExpression[Any, T, Dv]) -> tuple[ArrayLayer[Any, T, Dv], ...]:
    """Arrays of one shape, that to which all of them broadcast.

    Derivative: g summed over each stretched axis.
    Shapes: the broadcast shape. Raises ShapeError where there is none.
    >>> import numpy as np
    >>> [x.shape for x in broadcast_arrays(np.ones((2, 1)), np.ones((1, 3)))]
    [(2, 3), (2, 3)]

    Source: Python array API standard, `broadcast_arrays`.
    """
    shapes = [shape_of_operand(x) for x in arrays]
    joint = broadcast_batch(*shapes)
    return tuple(broadcast_to(x, joint) for x in arrays)


@composed
def meshgrid(
    *arrays: ArrayExpression[Any, T, Dv], indexing: Literal["xy", "ij"] = "xy"
) -> tuple[ArrayLayer[Any, T, Dv], ...]:
    """The coordinates of a grid: one array for each vector, which varies along an axis of its own.

    Derivative: g summed over the other axes.
    Shapes: the lengths of the vectors, the first two exchanged with "xy". Raises ShapeError for what is no vector,
    ArgumentError for another indexing.
    >>> import numpy as np
    >>> [x.shape for x in meshgrid(np.ones(2), np.ones(3))]
    [(3, 2), (3, 2)]

    Source: Python array API standard, `meshgrid`.
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f'indexing is "xy" or "ij"; got {indexing!r:.60}')
    places = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        places[:2] = 1, 0
    lengths = [_length(x) for x in arrays]
    sizes = [0] * len(arrays)
    for place, n in zip(places, lengths, strict=True):
        sizes[place] = n
    lines = [
        reshape(x, tuple(n if i == place else 1 for i in range(len(arrays))))
        for x, place, n in zip(arrays, places, lengths, strict=True)
    ]
    return tuple(broadcast_to(x, tuple(sizes)) for x in lines)


def _length(x: object) -> int:
    (n,) = ruled(arrangement.vector, [shape_of_operand(x)])
    return n
