"""Masks of one operand: which elements are infinite, no numbers, negative; and what holds of all or any of a mask.

Knows: that a mask has no delta.
Refuses to know: where masks are used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from wengert.arrays import MASK, Axis, Dv, HostMask
from wengert.errors import DTypeError
from wengert.graph.apply import apply
from wengert.graph.detached import Mask
from wengert.graph.kinds import Column, Kind, kind
from wengert.graph.operation import Operation, Rules
from wengert.ops.batching import reduced
from wengert.ops.families import predicate, reduced_by
from wengert.ops.kinds import reduced_shape

Value = Any  # data of any column, or an expression: a rule is written once for all of them


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
