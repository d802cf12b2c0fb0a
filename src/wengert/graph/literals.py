"""Literals with a static shape: `literal(array, *dims)`, checked at run time against the array.

Knows: what may stand for a dimension (an int, a class or NewType of int, a value from `.shape`).
Refuses to know: how shapes are computed with.
"""

from __future__ import annotations

from numbers import Real
from operator import index
from typing import Any, NewType, SupportsIndex

from wengert.arrays import (
    FLOATS,
    ArrayLiteral,
    Dv,
    T,
    Value,
    dtype_of,
    freeze,
    interchanged,
    is_array,
    is_other_float,
)
from wengert.dims import Dimension
from wengert.errors import ArgumentError, DTypeError, NotDifferentiableError, ShapeError
from wengert.graph.apply import apply
from wengert.graph.expressions import ArrayLayer
from wengert.graph.kinds import refused_dtype
from wengert.graph.node import Expression
from wengert.graph.operand import LITERAL, shown
from wengert.site import user_position


def checked_number(what: str, data: object) -> float:
    """`data`, if it is a single real number; a text or an array would be converted silently."""
    if isinstance(data, Real) and not is_other_float(data):
        return data  # type: ignore[return-value] # every Real converts to float
    if isinstance(data, Real):
        raise DTypeError(f"{what}: a number of {refused_dtype(dtype_of(data))}\n  at {user_position()}")
    raise DTypeError(f"{what}: expected a number, got {data!r:.60}\n  at {user_position()}")


def checked_name(what: str, name: object) -> None:
    """Refuse what cannot name a weight or a layer in errors, logs and files."""
    if name is not None and not isinstance(name, str):
        raise ArgumentError(f"{what}: name is a str; got {shown(name)}\n  at {user_position()}")


def _size(what: str, dim: Dimension) -> int | None:
    """The size that is stated for a dimension; None where it is only named."""
    if isinstance(dim, NewType) or (isinstance(dim, type) and issubclass(dim, int)):
        return None
    if isinstance(dim, SupportsIndex) and not is_array(dim):
        return index(dim)
    raise ArgumentError(
        f"{what}: a dimension is an int, or a class or NewType of int that names it; got {shown(dim)}\n"
        f"  at {user_position()}"
    )


# Any: an array of any library
def checked_array(what: str, given: Any, dims: tuple[Dimension, ...]) -> Value:
    """The array of numpy or cupy; refuse what is no floating array, or has not the shape `dims`.

    A class of int is of any size.
    """
    try:
        array = given if is_array(given) else None if isinstance(given, Expression) else interchanged(given)
    except DTypeError as error:
        raise DTypeError(f"{what}: {error}\n  at {user_position()}") from None
    if array is None:
        raise DTypeError(f"{what}: expected an array, got {shown(given)}\n  at {user_position()}")
    if array.dtype not in FLOATS:
        raise DTypeError(f"{what}: an array of {refused_dtype(array.dtype)}\n  at {user_position()}")
    try:
        freeze(array[None][:0])  # no element is copied; a subclass with a meaning of its own is refused
    except NotDifferentiableError as error:
        raise NotDifferentiableError(f"{what}: {error}\n  at {user_position()}") from None
    if not dims:
        return array
    stated = tuple(_size(what, d) for d in dims)
    if len(stated) != array.ndim or any(
        d is not None and d != n for d, n in zip(stated, array.shape, strict=True)
    ):
        named = ", ".join(
            getattr(d, "__name__", "?") if n is None else str(n) for d, n in zip(dims, stated, strict=True)
        )
        raise ShapeError(
            f"{what}: the array has shape {array.shape}, the stated dimensions are ({named})\n"
            f"  at {user_position()}"
        )
    return array


# Any, as the shape: the mypy plugin puts the stated dimensions there
def literal(array: ArrayLiteral[T, Dv], *dims: Dimension) -> ArrayLayer[Any, T, Dv]:
    """An array as an expression, kept as a private copy, with its shape stated and checked.

    Shapes: `array` has one axis for each of `dims`: an int, or a class or NewType of int that names a
    dimension of any size. Raises ShapeError where they differ, DTypeError for an array that is not floating.

    >>> import numpy as np
    >>> literal(np.ones((2, 3), np.float32), 2, 3).shape
    (2, 3)
    """
    layer: ArrayLayer[Any, T, Dv] = apply(LITERAL, (checked_array("literal", array, dims),))
    return layer
