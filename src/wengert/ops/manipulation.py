"""Operations that give an array another shape or order: reshape, stretch, flip, roll, repeat, tile, pad, grids.

Knows: each one's inverse, which is its derivative; that what repeats elements is a choice of them, a reshape or a
broadcast.
Refuses to know: whether a view or a copy is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, Final, Literal, Never

from wengert.arrays import Dv, S, T, Value, is_integer, is_number
from wengert.elsewhere import one_by_one
from wengert.errors import ArgumentError, ShapeError
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, Shape, kind
from wengert.graph.operand import shown
from wengert.graph.operation import Operation, Rules
from wengert.ops.batching import behind, deepened, reshaped, shaped
from wengert.ops.families import composed
from wengert.ops.kinds import array_of, axes_in, axis_in, broadcast_batch, integers, ruled, shape_of_operand
from wengert_shapes import arrangement, rules, windows
from wengert_shapes.algebra import number


def _infer_reshape(kinds: Sequence[Kind], *, shape: Shape) -> Kind:
    old, dtype, device = array_of(kinds)
    return kind(
        Column.ARRAY, None if old is None else ruled(arrangement.reshaped, [old, shape]), dtype, device
    )


RESHAPE: Final = Operation(
    "reshape",
    Rules(
        _infer_reshape,
        lambda c, x, *, shape: c.xp.reshape(x, c.result.shape),
        (lambda c, g, y, x, *, shape: c.xp.reshape(g, c.shape(0)),),
        batch=reshaped,
        pure=True,
    ),
)


def reshape(
    x: ArrayExpression[Any, T, Dv], /, shape: int | tuple[int, ...], *more: Never
) -> ArrayLayer[Any, T, Dv]:
    """The elements of x, row by row, in another shape; one dimension may be -1 and is worked out.

    Derivative: g in the old shape.
    Shapes: as many elements as before. Raises ShapeError otherwise.
    >>> import numpy as np
    >>> reshape(np.arange(6.0), (2, -1)).shape
    (2, 3)

    Source: Python array API standard, `reshape`.
    """
    if more:
        raise one_by_one("reshape", "shape", (shape, *more))
    layer: ArrayLayer[Any, T, Dv] = apply(RESHAPE, (x,), (("shape", integers(shape, "reshape")),))
    return layer


def _infer_permute(kinds: Sequence[Kind], *, axes: tuple[int, ...]) -> Kind:
    old, dtype, device = array_of(kinds)
    return kind(Column.ARRAY, None if old is None else ruled(rules.permuted, [old], axes), dtype, device)


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    rank = len(axes)
    return tuple(sorted(range(rank), key=lambda i: axes[i] % rank))


def _batched_permute(b: Batch, x: Value, *, axes: tuple[int, ...]) -> Value:
    return b.again(x, axes=(0, *(a % len(axes) + 1 for a in axes)))


PERMUTE_DIMS: Final = Operation(
    "permute_dims",
    Rules(
        _infer_permute,
        lambda c, x, *, axes: c.xp.permute_dims(x, axes),
        (lambda c, g, y, x, *, axes: c.xp.permute_dims(g, _inverse(axes)),),
        batch=_batched_permute,
        pure=True,
    ),
)


def permute_dims(
    x: ArrayExpression[Any, T, Dv], /, axes: tuple[int, ...], *more: Never
) -> ArrayLayer[Any, T, Dv]:
    """The axes in another order: axis i of the result is axis axes[i] of x.

    Derivative: g by the inverse permutation.
    Shapes: permuted. Raises ShapeError if `axes` is no permutation.
    >>> import numpy as np
    >>> permute_dims(np.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)

    Source: Python array API standard, `permute_dims`.
    """
    if more:
        raise one_by_one("permute_dims", "axes", (axes, *more))
    layer: ArrayLayer[Any, T, Dv] = apply(PERMUTE_DIMS, (x,), (("axes", integers(axes, "permute_dims")),))
    return layer


@composed
def moveaxis(
    x: ArrayExpression[Any, T, Dv], source: int | tuple[int, ...], destination: int | tuple[int, ...], /
) -> ArrayLayer[Any, T, Dv]:
    """Some axes at other places; the others keep their order.

    Derivative: g with the axes where they were.
    Shapes: permuted. Raises ShapeError for an axis out of range or named twice, and for axes and places that are not
    as many.
    >>> import numpy as np
    >>> moveaxis(np.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)

    Source: Python array API standard, `moveaxis`.
    """
    shape = shape_of_operand(x)
    axes, places = integers(source, "moveaxis"), integers(destination, "moveaxis")
    ruled(arrangement.moved, [shape], axes, places)
    return permute_dims(x, arrangement.order_of((None,) * len(shape), axes, places))


@composed
def matrix_transpose(x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
    """The transpose of each matrix of a stack.

    Derivative: the transpose of g.
    Shapes: the last two axes exchanged. Raises ShapeError for an array of fewer than two axes.
    >>> import numpy as np
    >>> matrix_transpose(np.ones((2, 3, 4))).shape
    (2, 4, 3)

    Source: Python array API standard, `matrix_transpose`.
    """
    shape = shape_of_operand(x)
    ruled(arrangement.transposed, [shape])
    rank = len(shape)
    return permute_dims(x, (*range(rank - 2), rank - 1, rank - 2))


def _infer_expand(kinds: Sequence[Kind], *, axis: tuple[int, ...]) -> Kind:
    old, dtype, device = array_of(kinds)
    return kind(Column.ARRAY, None if old is None else ruled(rules.expanded, [old], axis), dtype, device)


EXPAND_DIMS: Final = Operation(
    "expand_dims",
    Rules(
        _infer_expand,
        lambda c, x, *, axis: c.xp.reshape(x, c.result.shape),
        (lambda c, g, y, x, *, axis: c.xp.reshape(g, c.shape(0)),),
        batch=reshaped,
        pure=True,
    ),
)


def expand_dims(x: ArrayExpression[Any, T, Dv], /, axis: int | tuple[int, ...]) -> ArrayLayer[Any, T, Dv]:
    """New axes of size 1 at the places `axis` of the result.

    Derivative: g without them.
    Shapes: 1 added at each place. Raises ShapeError for a place out of range.
    >>> import numpy as np
    >>> expand_dims(np.ones((2, 3)), axis=0).shape
    (1, 2, 3)

    Source: Python array API standard, `expand_dims`.
    """
    layer: ArrayLayer[Any, T, Dv] = apply(EXPAND_DIMS, (x,), (("axis", integers(axis, "expand_dims")),))
    return layer


def _infer_squeeze(kinds: Sequence[Kind], *, axis: tuple[int, ...]) -> Kind:
    old, dtype, device = array_of(kinds)
    return kind(Column.ARRAY, None if old is None else ruled(rules.squeezed, [old], axis), dtype, device)


SQUEEZE: Final = Operation(
    "squeeze",
    Rules(
        _infer_squeeze,
        lambda c, x, *, axis: c.xp.reshape(x, c.result.shape),
        (lambda c, g, y, x, *, axis: c.xp.reshape(g, c.shape(0)),),
        batch=reshaped,
        pure=True,
    ),
)


def squeeze(x: ArrayExpression[Any, T, Dv], /, axis: int | tuple[int, ...]) -> ArrayLayer[Any, T, Dv]:
    """x without the axes `axis`, which have size 1.

    Derivative: g with them.
    Shapes: the axes go. Raises ShapeError for an axis of another size.
    >>> import numpy as np
    >>> squeeze(np.ones((2, 1)), axis=1).shape
    (2,)

    Source: Python array API standard, `squeeze`.
    """
    layer: ArrayLayer[Any, T, Dv] = apply(SQUEEZE, (x,), (("axis", integers(axis, "squeeze")),))
    return layer


def _infer_broadcast_to(kinds: Sequence[Kind], *, shape: Shape) -> Kind:
    old, dtype, device = array_of(kinds)
    if any(n < 0 for n in shape):
        raise ShapeError(f"cannot broadcast to {shape}: a dimension is negative")
    return kind(Column.ARRAY, shape if old is None else ruled(rules.stretched, [old, shape]), dtype, device)


def _batched_broadcast(b: Batch, x: Value, *, shape: Shape) -> Value:
    return b.again(deepened(b, 0, x, len(shape)), shape=(b.rows, *shape))


BROADCAST_TO: Final = Operation(
    "broadcast_to",
    Rules(
        _infer_broadcast_to,
        lambda c, x, *, shape: c.xp.broadcast_to(x, shape),
        (lambda c, g, y, x, *, shape: c.xp.sum_to(g, c.shape(0)),),
        batch=_batched_broadcast,
        pure=True,
    ),
)


def broadcast_to(
    x: ArrayExpression[Any, T, Dv], /, shape: tuple[int, ...], *more: Never
) -> ArrayLayer[Any, T, Dv]:
    """x repeated along new leading axes and along axes of size 1.

    Derivative: g summed over each stretched axis.
    Shapes: `shape`. Raises ShapeError where x does not stretch to it.
    >>> import numpy as np
    >>> broadcast_to(np.ones(3), (2, 3)).shape
    (2, 3)

    Source: Python array API standard, `broadcast_to`.
    """
    if more:
        raise one_by_one("broadcast_to", "shape", (shape, *more))
    layer: ArrayLayer[Any, T, Dv] = apply(BROADCAST_TO, (x,), (("shape", integers(shape, "broadcast_to")),))
    return layer


Axes = tuple[int, ...] | None


def _infer_flip(kinds: Sequence[Kind], *, axis: Axes) -> Kind:
    shape, dtype, device = array_of(kinds)
    if shape is not None:
        axes_in(axis, shape)
    return kind(Column.ARRAY, shape, dtype, device)


FLIP: Final = Operation(
    "flip",
    Rules(
        _infer_flip,
        lambda c, x, *, axis: c.xp.flip(x, axis=axis),
        (lambda c, g, y, x, *, axis: c.xp.flip(g, axis=axis),),
        batch=lambda b, x, *, axis: b.again(x, axis=behind(axis, b.shape(0))),
        pure=True,
    ),
)


def flip(
    x: ArrayExpression[S, T, Dv], /, *, axis: int | tuple[int, ...] | None = None
) -> ArrayLayer[S, T, Dv]:
    """The elements in reverse order along some axes, all of them if None.

    Derivative: g, flipped back.
    Shapes: that of x. Raises ShapeError for an axis out of range.
    >>> import numpy as np
    >>> flip(np.array([1.0, 2.0, 3.0])).predict().run().tolist()
    [3.0, 2.0, 1.0]

    Source: Python array API standard, `flip`.
    """
    axes = None if axis is None else integers(axis, "flip")
    layer: ArrayLayer[S, T, Dv] = apply(FLIP, (x,), (("axis", axes),))
    return layer


def _infer_roll(kinds: Sequence[Kind], *, axis: Axes, shift: tuple[int, ...]) -> Kind:
    shape, dtype, device = array_of(kinds)
    if shape is not None:
        shape = ruled(arrangement.rolled, [shape], shift, axis)
    return kind(Column.ARRAY, shape, dtype, device)


def _rolled(xp: Value, x: Value, shift: tuple[int, ...], axis: Axes) -> Value:
    if not shift:  # numpy 2.4 fails on no axes of shape ()
        return x
    return xp.roll(x, shift if axis is not None else shift[0], axis=axis)


def _batched_roll(b: Batch, x: Value, *, axis: Axes, shift: tuple[int, ...]) -> Value:
    shape = b.shape(0)
    if axis is not None:
        return b.again(x, axis=behind(axis, shape), shift=shift)
    lines = b.again(shaped(x, (b.rows, math.prod(shape))), axis=(1,), shift=shift)
    return shaped(lines, (b.rows, *shape))


ROLL: Final = Operation(
    "roll",
    Rules(
        _infer_roll,
        lambda c, x, *, axis, shift: _rolled(c.xp, x, shift, axis),
        (lambda c, g, y, x, *, axis, shift: _rolled(c.xp, g, tuple(-n for n in shift), axis),),
        batch=_batched_roll,
        pure=True,
    ),
)


def roll(
    x: ArrayExpression[S, T, Dv],
    /,
    shift: int | tuple[int, ...],
    *,
    axis: int | tuple[int, ...] | None = None,
) -> ArrayLayer[S, T, Dv]:
    """The elements moved forward along some axes; what leaves at the end comes in at the beginning.

    Without an axis the elements move row by row. One shift serves several axes; else there is one for each.
    Derivative: g, rolled back.
    Shapes: that of x. Raises ShapeError for an axis out of range and for shifts that are not one for each axis.
    >>> import numpy as np
    >>> roll(np.array([1.0, 2.0, 3.0]), 1).predict().run().tolist()
    [3.0, 1.0, 2.0]

    Source: Python array API standard, `roll`.
    """
    axes = None if axis is None else integers(axis, "roll")
    shifts = integers(shift, "roll")
    if axes is not None and not isinstance(shift, tuple):
        shifts *= len(axes)
    layer: ArrayLayer[S, T, Dv] = apply(ROLL, (x,), (("axis", axes), ("shift", shifts)))
    return layer


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


Widths = tuple[tuple[int, int], ...]


def _infer(kinds: Sequence[Kind], *, widths: Widths, value: float) -> Kind:
    shape, dtype, device = array_of(kinds)
    if not isinstance(widths, tuple) or not all(
        isinstance(pair, tuple) and len(pair) == 2 and all(map(is_integer, pair)) for pair in widths
    ):
        raise ArgumentError(f"widths are one pair (before, after) of ints an axis; got {widths!r:.60}")
    if not isinstance(value, Real) or (isinstance(value, int) and not is_number(int(value))):
        raise ArgumentError(f"the value around an array is a number; got {shown(value)}")
    if shape is not None:
        shape = ruled(lambda x, *pairs: windows.padded(x, pairs), [shape, *widths])
    return kind(Column.ARRAY, shape, dtype, device)


def _delta(c: Value, g: Value, y: Value, x: Value, *, widths: Widths, value: float) -> Value:
    sizes = zip(c.shape(0), widths, strict=True)
    return g[tuple(slice(before, before + n) for n, (before, _) in sizes)]


PAD: Final = Operation(
    "pad",
    Rules(
        _infer,
        lambda c, x, *, widths, value: c.xp.pad(x, widths, value),
        (_delta,),
        batch=lambda b, x, *, widths, value: b.again(x, widths=((0, 0), *widths), value=value),
        pure=True,
    ),
)


def pad(
    x: ArrayExpression[Any, T, Dv], /, widths: tuple[tuple[int, int], ...], *, value: float = 0.0
) -> ArrayLayer[Any, T, Dv]:
    """x with `value` around it: widths[i] = (before, after) elements more on axis i.

    Derivative: the part of g where x is.
    Shapes: before + n + after for each axis of n. Raises ShapeError for a negative width or another number of
    axes.
    >>> import numpy as np
    >>> pad(np.ones((1, 2)), ((0, 1), (1, 0))).predict().run().tolist()
    [[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]

    Source: numpy, `pad` with mode "constant".
    """
    pairs = tuple(map(_as_pair, widths)) if isinstance(widths, (tuple, list)) else widths
    layer: ArrayLayer[Any, T, Dv] = apply(PAD, (x,), (("widths", pairs), ("value", value)))
    return layer


def _as_pair(x: object) -> object:
    return tuple(x) if isinstance(x, list) else x
