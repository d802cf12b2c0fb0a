"""Triangles and diagonals of matrices.

Knows: which elements of a matrix are below, above and on a diagonal.
Refuses to know: derivatives, which are those of choosing elements.
"""

from __future__ import annotations

from typing import Any

from wengert.arrays import HOST, Dv, T, Value
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.ops.comparison import where
from wengert.ops.families import composed
from wengert.ops.indexing import getitem
from wengert.ops.kinds import ruled, shape_of_operand
from wengert.ops.reduction import sum
from wengert_shapes import arrangement


def _places(x: object) -> tuple[Value, Value]:
    """Row and column of each element of the matrices."""
    shape = shape_of_operand(x)
    ruled(arrangement.transposed, [shape])
    rows, columns = HOST.mesh(shape[-2:])
    return rows, columns


@composed
def tril(x: ArrayExpression[Any, T, Dv], /, *, k: int = 0) -> ArrayLayer[Any, T, Dv]:
    """The lower triangle of each matrix, 0 above the k-th diagonal.

    Derivative: the lower triangle of g.
    Shapes: that of x. Raises ShapeError for an array of fewer than two axes.
    >>> import numpy as np
    >>> tril(np.ones((2, 2))).predict().run().tolist()
    [[1.0, 0.0], [1.0, 1.0]]

    Source: Python array API standard, `tril`.
    """
    rows, columns = _places(x)
    return where(columns - rows <= k, x, 0.0)


@composed
def triu(x: ArrayExpression[Any, T, Dv], /, *, k: int = 0) -> ArrayLayer[Any, T, Dv]:
    """The upper triangle of each matrix, 0 below the k-th diagonal.

    Derivative: the upper triangle of g.
    Shapes: that of x. Raises ShapeError for an array of fewer than two axes.
    >>> import numpy as np
    >>> triu(np.ones((2, 2))).predict().run().tolist()
    [[1.0, 1.0], [0.0, 1.0]]

    Source: Python array API standard, `triu`.
    """
    rows, columns = _places(x)
    return where(columns - rows >= k, x, 0.0)


@composed
def diagonal(x: ArrayExpression[Any, T, Dv], /, *, offset: int = 0) -> ArrayLayer[Any, T, Dv]:
    """The diagonal of each matrix, or one above it (`offset` > 0) or below it.

    Derivative: g on the diagonal, 0 elsewhere.
    Shapes: the last two axes become one. Raises ShapeError for an array of fewer than two axes.
    >>> import numpy as np
    >>> diagonal(np.array([[1.0, 2.0], [3.0, 4.0]])).predict().run().tolist()
    [1.0, 4.0]

    Source: Python array API standard, `linalg.diagonal`.
    """
    shape = shape_of_operand(x)
    length = ruled(arrangement.diagonal, [shape], offset)[-1]
    (line,) = HOST.mesh((length,))
    return getitem(x, (..., line + max(-offset, 0), line + max(offset, 0)))


@composed
def trace(x: ArrayExpression[Any, T, Dv], /, *, offset: int = 0) -> ArrayLayer[Any, T, Dv]:
    """The sum of the diagonal of each matrix.

    Derivative: g on the diagonal, 0 elsewhere.
    Shapes: the last two axes go. Raises ShapeError for an array of fewer than two axes.
    >>> import numpy as np
    >>> trace(np.array([[1.0, 2.0], [3.0, 4.0]])).predict().run().item()
    5.0

    Source: Python array API standard, `linalg.trace`.
    """
    ruled(arrangement.diagonal, [shape_of_operand(x)], offset)
    return sum(diagonal(x, offset=offset), axis=-1)
