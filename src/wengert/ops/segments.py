"""Segments and scattered sums: means, extrema and softmax by segment id, elements added at places, sparse products.

Knows: that a segment without a slice has mean 0 and an infinite extremum; that the delta of a sparse product is one
with the transpose, and that no delta passes into its matrix, which is data.
Refuses to know: how elements are added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Protocol

from wengert.arrays import HOST, Dv, T, Value
from wengert.errors import ArgumentError, DeviceError, ShapeError
from wengert.graph.apply import apply
from wengert.graph.batch import Batch
from wengert.graph.detached import IndexExpression
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.index import indices
from wengert.graph.kinds import Column, Kind, kind
from wengert.graph.operand import operand, shown
from wengert.graph.operation import Operation, Rules
from wengert.ops import kinds
from wengert.ops.arithmetic import add, clip, divide, negative, subtract
from wengert.ops.backward import add_at
from wengert.ops.batching import all_stacked, moved, shaped
from wengert.ops.elementary import exp, stop_gradient
from wengert.ops.families import composed
from wengert.ops.indexing import segment_sum, take
from wengert.ops.kinds import axis_in, segments_of_rows, shape_of_operand
from wengert.site import user_position


def _greatest_delta(c: Value, g: Value, y: Value, x: Value, ids: Value, *, num_segments: int) -> Value:
    xp = c.xp
    tied = xp.astype(xp.equal(x, xp.take(y, ids, axis=0)), c.result.dtype)
    counts = xp.maximum(xp.add_at((num_segments, *c.shape(0)[1:]), c.result.dtype, ids, tied), 1.0)
    return tied * xp.take(xp.divide(g, counts), ids, axis=0)


def _greatest_of_rows(c: Value, g: Value, y: Value, x: Value, ids: Value, *, num_segments: int) -> Value:
    xp, shape, dtype = c.xp, c.shape(0), c.result.dtype
    key = (*xp.mesh((shape[0], 1))[:1], ids)
    tied = xp.astype(xp.equal(x, xp.getitem(y, key)), dtype)
    counts = xp.maximum(xp.add_at((shape[0], num_segments, *shape[2:]), dtype, key, tied), 1.0)
    return tied * xp.getitem(xp.divide(g, counts), key)


SEGMENT_MAX_ROWS: Final = Operation(  # each row into segments of its own
    "segment_max_rows",
    Rules(
        segments_of_rows,
        lambda c, x, ids, *, num_segments: c.xp.segment_max(x, ids, num_segments),
        (_greatest_of_rows, None),
        pure=True,
    ),
    listed=False,
)


def _batched_greatest(b: Batch, x: Value, ids: Value, *, num_segments: int) -> Value:
    if b.stacked[1]:
        return apply(SEGMENT_MAX_ROWS, tuple(all_stacked(b, (x, ids))), (("num_segments", num_segments),))
    return moved(b.again(moved(x, 1, 0, 1), ids, num_segments=num_segments), 1, 1, 0)


SEGMENT_MAX: Final = Operation(
    "segment_max",
    Rules(
        kinds.segments,
        lambda c, x, ids, *, num_segments: c.xp.segment_max(x, ids, num_segments),
        (_greatest_delta, None),
        batch=_batched_greatest,
        pure=True,
    ),
)


def segment_max(
    x: ArrayExpression[Any, T, Dv], segment_ids: IndexExpression, /, *, num_segments: int
) -> ArrayLayer[Any, T, Dv]:
    """The greatest elements of the slices of x that have one segment id; -infinity where there is none.

    Derivative: g, in equal parts to all elements of the segment that are greatest.
    Shapes: x (n, ...), ids (n,), result (num_segments, ...). Raises what `segment_sum` raises.
    >>> import numpy as np
    >>> segment_max(np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), num_segments=2).predict().run().tolist()
    [2.0, 4.0]

    Source: JAX, `jax.ops.segment_max`.
    """
    operands = (x, indices(segment_ids))
    layer: ArrayLayer[Any, T, Dv] = apply(SEGMENT_MAX, operands, (("num_segments", num_segments),))
    return layer


@composed
def segment_min(
    x: ArrayExpression[Any, T, Dv], segment_ids: IndexExpression, /, *, num_segments: int
) -> ArrayLayer[Any, T, Dv]:
    """The smallest elements of the slices of x that have one segment id; infinity where there is none.

    Derivative: g, in equal parts to all elements of the segment that are smallest.
    Shapes: x (n, ...), ids (n,), result (num_segments, ...). Raises what `segment_sum` raises.
    >>> import numpy as np
    >>> segment_min(np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), num_segments=2).predict().run().tolist()
    [2.0, 1.0]

    Source: JAX, `jax.ops.segment_min`.
    """
    turned: Any = negative(x)  # Any: as x
    greatest: Any = segment_max(turned, segment_ids, num_segments=num_segments)
    least: ArrayLayer[Any, T, Dv] = negative(greatest)
    return least


@composed
def segment_mean(
    x: ArrayExpression[Any, T, Dv], segment_ids: IndexExpression, /, *, num_segments: int
) -> ArrayLayer[Any, T, Dv]:
    """The means of the slices of x that have one segment id; 0 where there is none.

    Derivative: g / n, for each of the n slices of a segment.
    Shapes: x (n, ...), ids (n,), result (num_segments, ...). Raises what `segment_sum` raises.
    >>> import numpy as np
    >>> segment_mean(np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), num_segments=2).predict().run().tolist()
    [2.0, 2.5]

    Source: TensorFlow, `tf.math.unsorted_segment_mean`.
    """
    total = segment_sum(x, segment_ids, num_segments=num_segments)
    shape = shape_of_operand(x)
    ones: Any = HOST.ones((*shape[:1], *(1,) * (len(shape) - 1)), operand(x)[1].dtype)  # Any: as x
    counts: Any = clip(segment_sum(ones, segment_ids, num_segments=num_segments), 1.0)  # Any: as x
    return divide(total, counts)


@composed
def segment_softmax(
    x: ArrayExpression[Any, T, Dv], segment_ids: IndexExpression, /, *, num_segments: int
) -> ArrayLayer[Any, T, Dv]:
    """exp(x) over its sum in the segment, without overflow: the attention of each node over the edges that reach it.

    Derivative: y (g - Σ g y) with the sum over the segment.
    Shapes: that of x (n, ...), ids (n,). Raises what `segment_sum` raises.
    >>> import numpy as np
    >>> segment_softmax(np.array([0.0, 1000.0, 0.0]), np.array([0, 1, 0]), num_segments=2).predict().run().tolist()
    [0.5, 1.0, 0.5]

    Source: P. Veličković et al., "Graph Attention Networks", 2018, equation 2; PyTorch Geometric, `utils.softmax`.
    """
    given: Any = stop_gradient(x)  # Any: as x, all of them
    top: Any = take(segment_max(given, segment_ids, num_segments=num_segments), segment_ids)
    parts: Any = exp(subtract(x, top))
    sums: Any = segment_sum(parts, segment_ids, num_segments=num_segments)
    return divide(parts, take(sums, segment_ids))


@composed
def index_add(
    x: ArrayExpression[Any, T, Dv],
    indices: IndexExpression,
    source: ArrayExpression[Any, T, Dv],
    /,
    *,
    axis: int = 0,
) -> ArrayLayer[Any, T, Dv]:
    """x with slices added at places along an axis; equal places add up, in the order of the slices.

    Derivative: g for x, g at the places for the slices.
    Shapes: x (..., n, ...), indices (k,), source (..., k, ...), result that of x. Raises ShapeError for other shapes,
    IndexError in the run for a place out of range.
    >>> import numpy as np
    >>> index_add(np.zeros(3), np.array([0, 2, 0]), np.array([1.0, 2.0, 4.0])).predict().run().tolist()
    [5.0, 0.0, 2.0]

    Source: PyTorch, `torch.Tensor.index_add`; JAX, `jax.numpy.ndarray.at`.
    """
    shape, places = shape_of_operand(x), _places(indices)
    at = axis_in(axis, len(shape), shape)
    wanted = (*shape[:at], *shape_of_operand(places), *shape[at + 1 :])
    if len(shape_of_operand(places)) != 1 or shape_of_operand(source) != wanted:
        raise ShapeError(f"expected slices of shape {wanted}, got {shape_of_operand(source)}")
    return add(x, add_at(shape, (*(slice(None),) * at, places), source))


@composed
def scatter_add(
    x: ArrayExpression[Any, T, Dv],
    indices: IndexExpression,
    source: ArrayExpression[Any, T, Dv],
    /,
    *,
    axis: int = -1,
) -> ArrayLayer[Any, T, Dv]:
    """x with each element of `source` added in its line along an axis, at the place that `indices` has for it.

    Derivative: g for x, the elements of g at the places for the source: `take_along_axis` is its transpose.
    Shapes: indices and source are alike, and as x on the other axes; result that of x. Raises ShapeError for other
    shapes, IndexError in the run for a place out of range.
    >>> import numpy as np
    >>> scatter_add(np.zeros(3), np.array([0, 2, 0]), np.array([1.0, 2.0, 4.0])).predict().run().tolist()
    [5.0, 0.0, 2.0]

    Source: PyTorch, `torch.Tensor.scatter_add`.
    """
    shape, places = shape_of_operand(x), _places(indices)
    at, own = axis_in(axis, len(shape), shape), shape_of_operand(source)
    others = len(own) == len(shape) and all(
        n == m or i == at for i, (n, m) in enumerate(zip(own, shape, strict=True))
    )
    if not others or shape_of_operand(places) != own:
        raise ShapeError(
            f"indices of shape {shape_of_operand(places)} and source of shape {own} do not fit shape {shape} along "
            f"axis {axis}"
        )
    key: list[Any] = list(HOST.mesh(own))  # Any: integers, and a layer
    key[at] = places
    return add(x, add_at(shape, tuple(key), source))


def _places(given: IndexExpression) -> Any:  # Any: integers in any form, and an operand
    return indices(given)


# -- sparse matrices -------------------------------------------------------------------------------------


class SparseMatrix(Protocol):
    """A sparse matrix of SciPy: data, which is never differentiated."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def T(self) -> Any: ...  # Any: as the matrix
    def __matmul__(self, other: Any, /) -> Any: ...  # Any: arrays of numpy


class Constant:
    """A sparse matrix as an attribute of an operation: equal where it is the same object, whatever it compares to."""

    __slots__ = ("matrix",)

    def __init__(self, matrix: SparseMatrix) -> None:
        self.matrix = matrix

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and other.matrix is self.matrix

    def __hash__(self) -> int:
        return id(self.matrix)


def _infer_sparse(operands: Sequence[Kind], *, constant: Constant, turned: bool) -> Kind:
    shape, dtype, device = kinds.array_of(operands)
    if device != "cpu":
        raise DeviceError(f"a sparse matrix of SciPy is on the cpu, the operand on {device}")
    if shape is None:
        return kind(Column.ARRAY, None, dtype, device)
    rows, columns = constant.matrix.shape[::-1] if turned else constant.matrix.shape
    if len(shape) not in (1, 2) or shape[0] != columns:
        raise ShapeError(f"cannot multiply a sparse matrix of shape {(rows, columns)} by {shape}")
    return kind(Column.ARRAY, (rows, *shape[1:]), dtype, device)


def _product(c: Value, x: Value, *, constant: Constant, turned: bool) -> Value:
    return c.xp.sparse_product(constant, turned, x)


def _batched_product(b: Batch, x: Value, *, constant: Constant, turned: bool) -> Value:
    """All rows beside each other: one product."""
    first, *rest = b.shape(0)
    lines = shaped(moved(x, 1, 0, 1), (first, b.rows * math.prod(rest)))
    made = b.again(lines, constant=constant, turned=turned)
    return moved(shaped(made, (made.shape[0], b.rows, *rest)), 1, 1, 0)


SPARSE_MATMUL: Final = Operation(
    "sparse_matmul",
    Rules(
        _infer_sparse,
        _product,
        (lambda c, g, y, x, *, constant, turned: c.xp.sparse_product(constant, not turned, g),),
        batch=_batched_product,
        pure=True,
    ),
)


def sparse_product(constant: Constant, turned: bool, x: Value) -> Value:
    """The product with a sparse matrix, or with its transpose."""
    return apply(SPARSE_MATMUL, (x,), (("constant", constant), ("turned", turned)))


def sparse_matmul(matrix: SparseMatrix, x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
    """A sparse matrix of SciPy times a vector or a matrix, in the element type of x.

    Derivative: matrixᵀ g for x; none for the matrix, which is data: it must not change while an expression has it.
    Shapes: (m, k) times (k,) or (k, n). Raises ShapeError for other shapes, ArgumentError for what is no sparse matrix
    of two axes, DeviceError for an operand on a GPU.
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> edges = csr_array(np.array([[0.0, 2.0], [0.0, 0.0]]))
    >>> sparse_matmul(edges, np.array([1.0, 3.0])).predict().run().tolist()
    [6.0, 0.0]

    Source: SciPy, `scipy.sparse`; T. Kipf, M. Welling, "Semi-Supervised Classification with Graph Convolutional
    Networks", 2017, equation 2.
    """
    if not hasattr(matrix, "nnz") or len(matrix.shape) != 2:
        raise ArgumentError(
            f"sparse_matmul: expected a sparse matrix of two axes, as scipy.sparse.csr_array; got {shown(matrix)}\n"
            f"  at {user_position()}"
        )
    layer: ArrayLayer[Any, T, Dv] = sparse_product(Constant(matrix), False, x)
    return layer
