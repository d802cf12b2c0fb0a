"""Conversion between element types, the only way from one to the other.

Knows: that a delta goes back in the element type of the operand.
Refuses to know: other element types than float32 and float64: nothing else is differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, overload

from typing_extensions import TypeVar

from wengert.arrays import FLOAT32, FLOAT64, DType, Dv, Float32, Float64, S, T, dtype_from
from wengert.errors import DTypeError
from wengert.graph.apply import apply
from wengert.graph.batch import rowwise
from wengert.graph.detached import Indices
from wengert.graph.expressions import (
    ArrayExpression,
    ArrayLayer,
    DoubleExpression,
    DoubleLayer,
    FloatExpression,
    FloatLayer,
)
from wengert.graph.kinds import Column, Kind, kind
from wengert.graph.operation import Operation, Rules
from wengert.ops.batching import by_elements
from wengert.ops.kinds import common
from wengert.site import user_position

Value = Any  # data of any column, or an expression: a rule is written once for all of them
U = TypeVar("U", bound=Float32 | Float64, default=Float32)  # a default, as those before it have one


def _infer(kinds: Sequence[Kind], *, dtype: Any) -> Kind:  # Any: numpy's dtype, as kinds keep it
    if kinds[0].column is Column.INDEX:
        return kind(Column.ARRAY, kinds[0].shape, dtype, kinds[0].device)
    column, _, device = common(kinds)
    if column is not Column.ARRAY:
        column = Column.FLOAT if dtype == FLOAT32 else Column.DOUBLE
    return kind(column, kinds[0].shape, dtype, device)


def _converted(c: Value, x: Value, to: Kind) -> Value:
    return c.xp.astype(x, to.dtype) if to.column is Column.ARRAY else c.xp.item(x, to.dtype)


ASTYPE: Final = Operation(
    "astype",
    Rules(
        _infer,
        lambda c, x, *, dtype: _converted(c, x, c.result),
        (lambda c, g, y, x, *, dtype: _converted(c, g, c.kinds[0]),),
        batch=rowwise,
        ragged=by_elements,
        pure=True,
    ),
)


@overload
def astype(x: ArrayExpression[S, T, Dv], dtype: type[U] | DType[U], /) -> ArrayLayer[S, U, Dv]: ...
@overload
def astype(x: Indices[S, Dv], dtype: type[U] | DType[U], /) -> ArrayLayer[S, U, Dv]: ...
@overload
def astype(  # type: ignore[overload-overlap] # no class is both element types
    x: DoubleExpression | FloatExpression, dtype: type[Float32] | DType[Float32], /
) -> FloatLayer: ...
@overload
def astype(
    x: DoubleExpression | FloatExpression, dtype: type[Float64] | DType[Float64], /
) -> DoubleLayer: ...
def astype(x: Any, dtype: Any, /) -> Any:  # Any: typed by the overloads
    """x as float32 or float64: a double becomes a float, a float a double, an array, and `Indices`, one of these.

    Derivative: g in the element type of x; none for integers.
    Shapes: that of x; the dtype is numpy.float32 or numpy.float64. Raises DTypeError for any other.
    >>> import numpy as np
    >>> astype(np.ones(2), np.float32).dtype
    dtype('float32')

    Source: Python array API standard, `astype`.
    """
    wanted = dtype_from(dtype)
    if wanted is None or wanted not in (FLOAT32, FLOAT64):  # numpy takes None for float64
        given = repr(dtype) if wanted is None else str(wanted)
        raise DTypeError(
            f"astype: {given:.60} is not differentiable; use numpy.float32 or numpy.float64; for other values convert "
            f"what a run gives, as in `layer.predict().run().astype(...)`\n  at {user_position()}"
        )
    return apply(ASTYPE, (x,), (("dtype", wanted),))
