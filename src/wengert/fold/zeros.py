"""Zeros of a type.

Knows: the array, or the structure of layers, that is zero.
Refuses to know: blocks.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.arrays.stated import stated_array
from wengert.errors import BlockError
from wengert.fold.structures import BroadcastSequenceType, SequenceType, TupleType
from wengert.fold.types import PyObjectType, ResultType, StackedType, TensorType, Value
from wengert.graph.operand import lift_any


def zero_array(of: TensorType) -> Value:
    """An array of zeros of a type."""
    row: Value = 0
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
