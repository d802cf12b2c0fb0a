"""Comparisons, predicates, logic and choice: masks and what is done with them.

Knows: that a mask has no delta, and that `where` sends a delta only to what was chosen.
Refuses to know: what a mask is for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, overload

from wengert.arrays import MASK, Axis, Dv, HostMask, T, Value
from wengert.errors import DTypeError
from wengert.graph.apply import apply
from wengert.graph.batch import rowwise
from wengert.graph.detached import Mask
from wengert.graph.expressions import (
    ArrayExpression,
    ArrayLayer,
    DoubleExpression,
    DoubleLayer,
    FloatExpression,
    FloatLayer,
    ScalarOperand,
)
from wengert.graph.kinds import Column, Kind, kind
from wengert.graph.operation import Operation, Rules
from wengert.ops import kinds
from wengert.ops.batching import aligned, by_elements, reduced
from wengert.ops.families import comparison, predicate, reduced_by
from wengert.ops.kinds import reduced_shape


@partial(comparison, pure=True)
def greater(c: Value, a: Value, b: Value) -> Value:
    """a > b, as a mask.

    Derivative: none; nothing below gets a delta.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> greater(2.0, 1.0).predict().run().item()
    True

    Source: Python array API standard, `greater`.
    """
    return c.xp.greater(a, b)


@partial(comparison, pure=True)
def greater_equal(c: Value, a: Value, b: Value) -> Value:
    """a ≥ b, as a mask.

    Derivative: none; nothing below gets a delta.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> greater_equal(2.0, 2.0).predict().run().item()
    True

    Source: Python array API standard, `greater_equal`.
    """
    return c.xp.greater_equal(a, b)


@partial(comparison, pure=True)
def less(c: Value, a: Value, b: Value) -> Value:
    """a < b, as a mask.

    Derivative: none; nothing below gets a delta.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> less(1.0, 2.0).predict().run().item()
    True

    Source: Python array API standard, `less`.
    """
    return c.xp.less(a, b)


@partial(comparison, pure=True)
def less_equal(c: Value, a: Value, b: Value) -> Value:
    """a ≤ b, as a mask.

    Derivative: none; nothing below gets a delta.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> less_equal(2.0, 2.0).predict().run().item()
    True

    Source: Python array API standard, `less_equal`.
    """
    return c.xp.less_equal(a, b)


@partial(comparison, pure=True)
def equal(c: Value, a: Value, b: Value) -> Value:
    """a = b, as a mask.

    Derivative: none; nothing below gets a delta.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> equal(2.0, 2.0).predict().run().item()
    True

    Source: Python array API standard, `equal`.
    """
    return c.xp.equal(a, b)


@partial(comparison, pure=True)
def not_equal(c: Value, a: Value, b: Value) -> Value:
    """a ≠ b, as a mask.

    Derivative: none; nothing below gets a delta.
    Shapes: broadcast; one dtype. Raises ShapeError, DTypeError, DeviceError on the line of the call.
    >>> not_equal(2.0, 1.0).predict().run().item()
    True

    Source: Python array API standard, `not_equal`.
    """
    return c.xp.not_equal(a, b)


LOGICAL_AND: Final = Operation(
    "logical_and",
    Rules(
        kinds.logical,
        lambda c, a, b: c.xp.logical_and(a, b),
        detached=True,
        batch=aligned,
        ragged=by_elements,
        pure=True,
    ),
)


def logical_and(a: Mask[Any, Dv] | HostMask[Any], b: Mask[Any, Dv] | HostMask[Any], /) -> Mask[Any, Dv]:
    """The conjunction of two masks: true where both are.

    Derivative: none.
    Shapes: broadcast. Raises ShapeError, DTypeError for what is no mask.
    >>> logical_and(greater(2.0, 1.0), less(1.0, 2.0)).predict().run().item()
    True

    Source: Python array API standard, `logical_and`.
    """
    mask: Mask[Any, Dv] = apply(LOGICAL_AND, (a, b))
    return mask


LOGICAL_OR: Final = Operation(
    "logical_or",
    Rules(
        kinds.logical,
        lambda c, a, b: c.xp.logical_or(a, b),
        detached=True,
        batch=aligned,
        ragged=by_elements,
        pure=True,
    ),
)


def logical_or(a: Mask[Any, Dv] | HostMask[Any], b: Mask[Any, Dv] | HostMask[Any], /) -> Mask[Any, Dv]:
    """The disjunction of two masks: true where either or both are.

    Derivative: none.
    Shapes: broadcast. Raises ShapeError, DTypeError for what is no mask.
    >>> logical_or(greater(2.0, 1.0), less(1.0, 2.0)).predict().run().item()
    True

    Source: Python array API standard, `logical_or`.
    """
    mask: Mask[Any, Dv] = apply(LOGICAL_OR, (a, b))
    return mask


LOGICAL_XOR: Final = Operation(
    "logical_xor",
    Rules(kinds.logical, lambda c, a, b: c.xp.not_equal(a, b), detached=True, batch=aligned, pure=True),
)


def logical_xor(a: Mask[Any, Dv] | HostMask[Any], b: Mask[Any, Dv] | HostMask[Any], /) -> Mask[Any, Dv]:
    """The exclusive disjunction of two masks: true where one of them is, and not both.

    Derivative: none.
    Shapes: broadcast. Raises ShapeError, DTypeError for what is no mask.
    >>> logical_xor(greater(2.0, 1.0), less(1.0, 2.0)).predict().run().item()
    False

    Source: Python array API standard, `logical_xor`.
    """
    mask: Mask[Any, Dv] = apply(LOGICAL_XOR, (a, b))
    return mask


LOGICAL_NOT: Final = Operation(
    "logical_not",
    Rules(
        kinds.logical,
        lambda c, a: c.xp.logical_not(a),
        detached=True,
        batch=rowwise,
        ragged=by_elements,
        pure=True,
    ),
)


def logical_not(a: Mask[Any, Dv] | HostMask[Any], /) -> Mask[Any, Dv]:
    """The negation of a mask: true where it is false.

    Derivative: none.
    Shapes: that of a. Raises DTypeError for what is no mask.
    >>> logical_not(greater(2.0, 1.0)).predict().run().item()
    False

    Source: Python array API standard, `logical_not`.
    """
    mask: Mask[Any, Dv] = apply(LOGICAL_NOT, (a,))
    return mask


WHERE: Final = Operation(
    "where",
    Rules(
        kinds.choice,
        lambda c, condition, a, b: c.xp.where(condition, a, b),
        (
            None,
            lambda c, g, y, condition, a, b: c.xp.where(condition, g, 0.0),
            lambda c, g, y, condition, a, b: c.xp.where(condition, 0.0, g),
        ),
        broadcasts=True,
        batch=aligned,
        ragged=by_elements,
        pure=True,
    ),
)


@overload
def where(
    condition: Mask[Any, Dv] | HostMask[Any],
    a: ArrayExpression[Any, T, Dv],
    b: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float,
    /,
) -> ArrayLayer[Any, T, Dv]: ...
@overload
def where(
    condition: Mask[Any, Dv] | HostMask[Any],
    a: ScalarOperand[T] | T | float,
    b: ArrayExpression[Any, T, Dv],
    /,
) -> ArrayLayer[Any, T, Dv]: ...
@overload
def where(condition: Mask[tuple[()], Any], a: DoubleExpression, b: DoubleExpression, /) -> DoubleLayer: ...
@overload
def where(
    condition: Mask[tuple[()], Any], a: FloatExpression, b: FloatExpression | float, /
) -> FloatLayer: ...
def where(condition: Any, a: Any, b: Any, /) -> Any:  # Any: typed by the overloads
    """a where the mask is true, else b.

    Derivative: g where it was chosen, exactly 0 where it was not; `sqrt`, `log`, `pow` and `divide` keep that 0
    through an infinite local derivative, so that a masked-out point never makes a NaN.
    Shapes: all three broadcast; a and b have one dtype. Raises ShapeError, DTypeError, DeviceError.
    >>> where(greater(2.0, 1.0), 10.0, 20.0).predict().run()
    10.0

    Source: Python array API standard, `where`.
    """
    return apply(WHERE, (condition, a, b))


@partial(predicate, pure=True)
def isnan(c: Value, x: Value) -> Value:
    """True where x is NaN.

    Derivative: none; nothing below gets a delta.
    Shapes: that of x.
    >>> isnan(float("nan")).predict().run().item()
    True

    Source: Python array API standard, `isnan`.
    """
    return c.xp.not_equal(x, x)


@partial(predicate, pure=True)
def isinf(c: Value, x: Value) -> Value:
    """True where x is infinite.

    Derivative: none; nothing below gets a delta.
    Shapes: that of x.
    >>> isinf(float("-inf")).predict().run().item()
    True

    Source: Python array API standard, `isinf`.
    """
    return c.xp.equal(c.xp.abs(x), math.inf)


@partial(predicate, pure=True)
def isfinite(c: Value, x: Value) -> Value:
    """True where x is neither infinite nor NaN.

    Derivative: none; nothing below gets a delta.
    Shapes: that of x.
    >>> isfinite(2.0).predict().run().item()
    True

    Source: Python array API standard, `isfinite`.
    """
    return c.xp.less(c.xp.abs(x), math.inf)


@partial(predicate, pure=True)
def signbit(c: Value, x: Value) -> Value:
    """True where x is negative, -0 too.

    Derivative: none; nothing below gets a delta.
    Shapes: that of x.
    >>> signbit(-0.0).predict().run().item()
    True

    Source: Python array API standard, `signbit`.
    """
    return c.xp.less(c.xp.copysign(1.0, x), 0.0)


def _infer(kinds: Sequence[Kind], *, axis: Axis = None, keepdims: bool = False) -> Kind:
    (x,) = kinds
    if x.column is not Column.MASK:
        raise DTypeError(f"expected a mask (booleans), got {x.text()}; compare first, as in greater(x, 0)")
    shape = None if x.shape is None else reduced_shape(x.shape, axis, keepdims)
    return kind(Column.MASK, shape, MASK, x.device)


def _least(c: Value, x: Value, *, axis: Axis = None, keepdims: bool = False) -> Value:
    return c.xp.all(x, axis=axis, keepdims=keepdims) if c.shape(0) else x


def _greatest(c: Value, x: Value, *, axis: Axis = None, keepdims: bool = False) -> Value:
    return c.xp.any(x, axis=axis, keepdims=keepdims) if c.shape(0) else x


ALL: Final = Operation("all", Rules(_infer, _least, detached=True, batch=reduced, pure=True))
ANY: Final = Operation("any", Rules(_infer, _greatest, detached=True, batch=reduced, pure=True))


def all(x: Mask[Any, Dv] | HostMask[Any], /, *, axis: Axis = None, keepdims: bool = False) -> Mask[Any, Dv]:
    """The conjunction of a mask along some axes, all of them if None: true where all is, and of nothing.

    Derivative: none.
    Shapes: the axes go, or stay as 1 with keepdims. Raises ShapeError for an axis out of range, DTypeError for
    what is no mask.
    >>> import numpy as np
    >>> all(np.array([[True, False], [True, True]]), axis=1).predict().run().tolist()
    [False, True]

    Source: Python array API standard, `all`.
    """
    mask: Mask[Any, Dv] = apply(ALL, (x,), reduced_by(axis, keepdims))
    return mask


def any(x: Mask[Any, Dv] | HostMask[Any], /, *, axis: Axis = None, keepdims: bool = False) -> Mask[Any, Dv]:
    """The disjunction of a mask along some axes, all of them if None: true where anything is.

    Derivative: none.
    Shapes: the axes go, or stay as 1 with keepdims. Raises ShapeError for an axis out of range, DTypeError for
    what is no mask.
    >>> import numpy as np
    >>> any(np.array([[True, False], [False, False]]), axis=1).predict().run().tolist()
    [True, False]

    Source: Python array API standard, `any`.
    """
    mask: Mask[Any, Dv] = apply(ANY, (x,), reduced_by(axis, keepdims))
    return mask
