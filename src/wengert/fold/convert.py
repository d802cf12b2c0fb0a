"""Types of values, from their short forms and from data; and zeros of a type.

Knows: the short forms; that tuples and lists of nothing but objects are objects; which structure of layers is zero.
Refuses to know: blocks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

from wengert.arrays import Generic0d, dtype_of, is_array, is_integer, shape_of
from wengert.arrays.stated import dtype_name, stated_array
from wengert.errors import BlockError
from wengert.fold.types import (
    BroadcastSequenceType,
    Endless,
    PyObjectType,
    ResultType,
    SequenceType,
    StackedType,
    TensorType,
    TupleType,
    Value,
    VoidType,
    error_here,
)
from wengert.graph.kinds import Kind
from wengert.graph.node import Expression
from wengert.graph.operand import lift_any, shown

OBJECT: Final = PyObjectType()
VOID: Final = VoidType()
_DEEPEST: Final = 64  # types do not nest deeper; data do, and are objects


def convert_to_type(x: object) -> ResultType:
    """The type that `x` is short for.

    A type is itself; a tuple has types for its parts; `[2, 3]` and `[2, 3, "int32"]` are tensors; a dtype or its
    name is a scalar; a number n is a vector of n.
    Raises BlockError for anything else.
    >>> convert_to_type((3, "int32", [2, 2]))
    TupleType(TensorType((3,), 'float32'), TensorType((), 'int32'), TensorType((2, 2), 'float32'))
    """
    if isinstance(x, ResultType):
        return x
    if isinstance(x, tuple):
        return TupleType([convert_to_type(part) for part in x])
    if isinstance(x, list):
        named = bool(x) and isinstance(x[-1], str)
        return TensorType(x[:-1], x[-1]) if named else TensorType(x)
    if is_integer(x) and not isinstance(x, bool):
        return TensorType((int(x),))
    name = dtype_name(x)
    if name is not None:
        return TensorType((), name)
    raise error_here(
        f"a type is a type of wengert.fold, a tuple of them, a list of sizes, a size or a dtype; "
        f"got {shown(x)}"
    )


def canonicalize_type(x: object) -> ResultType:
    """The canonical form of a type: a non-empty tuple, or a list, of nothing but objects is an object itself.

    >>> canonicalize_type(TupleType(PyObjectType(), SequenceType(PyObjectType())))
    PyObjectType()
    """
    of = convert_to_type(x)
    if isinstance(of, TupleType):
        parts = [canonicalize_type(t) for t in of.parts]
        return OBJECT if parts and all(t == OBJECT for t in parts) else TupleType(parts)
    if isinstance(of, BroadcastSequenceType):
        return BroadcastSequenceType(canonicalize_type(of.element_type))
    if isinstance(of, SequenceType):
        item = canonicalize_type(of.element_type)
        return OBJECT if item == OBJECT else SequenceType(item)
    return of


def type_of(x: object) -> ResultType:
    """The type of a value: tensors where there are expressions in it, else an object."""
    return canonicalize_type(_form(x, 0))


def tensor_type(x: object) -> TensorType | None:
    """The type of an expression or an array, None for anything else."""
    if isinstance(x, Expression):
        found = _of_kind(x.kind)
        if found is None:
            raise error_here(f"{x!r} has a shape that only the run knows")
        return found
    if is_array(x) or isinstance(x, Generic0d):  # numpy gives its scalars where a result has shape ()
        return TensorType(shape_of(x), dtype_of(x))
    return None


@functools.lru_cache(maxsize=4096)
def _of_kind(of: Kind) -> TensorType | None:
    """Kinds are made once for each shape and dtype, so types are found and not made."""
    return None if of.shape is None or of.dtype is None else TensorType(of.shape, of.dtype)


def _form(x: object, depth: int) -> ResultType:
    if isinstance(x, Expression):
        return tensor_type(x) or OBJECT
    if depth > _DEEPEST:
        return OBJECT
    if isinstance(x, tuple):
        return TupleType([_form(part, depth + 1) for part in x])
    if isinstance(x, list):
        items = {_form(part, depth + 1) for part in x}
        return SequenceType(items.pop()) if len(items) == 1 else OBJECT
    if isinstance(x, Endless):
        return BroadcastSequenceType(_form(next(x), depth + 1))
    return OBJECT


def zero_array(of: TensorType) -> Value:
    """An array of zeros of a type."""
    row: Value = False  # which every element type has
    for n in reversed(of.shape):
        row = [row] * n
    array = stated_array(row, of.dtype)
    return array.reshape(of.shape)


def zeros_of_type(of: ResultType, fault: Callable[[str], str]) -> Value:
    """Zeros in the structure of a type; recursive over the type, which a person has written."""
    if isinstance(of, TensorType):
        return lift_any(zero_array(of)) if of.floating else zero_array(of)
    if isinstance(of, TupleType):
        return tuple(zeros_of_type(t, fault) for t in of.parts)
    if isinstance(of, (BroadcastSequenceType, PyObjectType, StackedType)):
        raise BlockError(fault(f"there are no zeros of {of}"))
    return [] if isinstance(of, SequenceType) else None
