"""What a function of layers gives, found by a trace that computes nothing.

Knows: sample layers for a type, and what a result says of the type of all results.
Refuses to know: blocks and formulas.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

from wengert.arrays.stated import stated_array
from wengert.errors import BlockError
from wengert.fold.convert import tensor_type
from wengert.fold.structures import SequenceType, TupleType
from wengert.fold.types import ResultType, StackedType, TensorType, Value
from wengert.fold.zeros import zero_array
from wengert.graph.kinds import Column, Role, kind
from wengert.graph.operand import external, shown

Fault = Callable[[str], str]
_ROWS = (5, 7)  # sizes of a stack to trace with: what is as long as the stack differs between them


def floating(of: ResultType) -> bool:
    """Whether all tensors in a type are of floating numbers."""
    return all(isinstance(t, (TensorType, StackedType)) and t.floating for t in of.terminal_types())


def traced_type(function: Callable[..., Value], of: ResultType, fault: Fault) -> ResultType:
    """The type of what the function gives; of a stack, from two samples with different numbers of rows."""
    parts = list(of.terminal_types())
    if not parts or not all(isinstance(t, (TensorType, StackedType)) for t in parts) or _has_list(of):
        raise BlockError(fault(f"its input is {of}; a function takes a tensor, or a tuple of tensors"))
    sizes = _ROWS if any(isinstance(t, StackedType) for t in parts) else _ROWS[:1]
    results = []
    for rows in sizes:
        sample = _sample(of, rows)
        arguments = sample if isinstance(of, TupleType) else (sample,)
        _check_takes(function, arguments, of, fault)
        results.append(_type_of(function(*arguments), fault))
    return _common(results[0], results[-1], fault)


def _check_takes(
    function: Callable[..., Value], given: Sequence[Value], of: ResultType, fault: Fault
) -> None:
    """Refuse another number of arguments than the function has; what says nothing of that is called."""
    try:
        takes = inspect.signature(function)
    except ValueError:
        return
    try:
        takes.bind(*given)
    except TypeError as error:
        raise BlockError(
            fault(f"its input is {of}, and a function of {takes} does not take that: {error}")
        ) from None


def _has_list(of: ResultType) -> bool:
    return isinstance(of, SequenceType) or any(map(_has_list, of.parts))


def _sample(of: ResultType, rows: int) -> Value:
    """A value that has a type and is never computed."""
    if isinstance(of, StackedType):
        return _sample(of.of(rows), rows)
    if isinstance(of, TensorType):
        role = kind(Column.ARRAY, of.shape, stated_array(0, of.dtype).dtype, "cpu", Role.CONSTANT)
        return external(None, role) if of.floating else zero_array(of)
    return tuple([_sample(t, rows) for t in of.parts]) if isinstance(of, TupleType) else None


def _type_of(x: Value, fault: Fault) -> ResultType:
    if isinstance(x, tuple) and x:
        return TupleType([_type_of(part, fault) for part in x])
    found = tensor_type(x)
    if found is None:
        raise BlockError(fault(f"it gave {shown(x)}; a function gives a layer, or a tuple of layers"))
    return found


def _common(a: ResultType, b: ResultType, fault: Fault) -> ResultType:
    """The type of two results that may differ in the number of rows."""
    if a == b:
        return a
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a) == len(b):
        return TupleType([_common(x, y, fault) for x, y in zip(a, b, strict=True)])
    if isinstance(a, TensorType) and isinstance(b, TensorType) and a.ndim:
        rows = StackedType(TensorType(a.shape[1:], a.dtype))
        if (a, b) == (rows.of(_ROWS[0]), rows.of(_ROWS[1])):
            return rows
    raise BlockError(
        fault(
            f"of {_ROWS[0]} rows it makes {a}, and of {_ROWS[1]} rows {b}: only the first axis may be as long as a list"
        )
    )
