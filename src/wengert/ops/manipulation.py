"""Operations that give an array another shape: reshape, permute, add or remove axes, stretch.

Knows: each one's inverse, which is its derivative.
Refuses to know: whether a view or a copy is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Never

from wengert.arrays import Dv, T
from wengert.elsewhere import one_by_one
from wengert.errors import ShapeError
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, Shape, kind
from wengert.graph.operation import Operation, Rules
from wengert.ops.batching import deepened, reshaped
from wengert.ops.families import composed
from wengert.ops.kinds import array_of, integers, ruled, shape_of_operand
from wengert_shapes import arrangement, rules

Value = Any  # arrays, or expressions: a rule is written once for both


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
