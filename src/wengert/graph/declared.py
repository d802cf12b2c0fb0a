"""Kinds from annotations: what `-> ArrayLayer[tuple[Literal[2], Literal[3]]]` or a `Data` type states.

Knows: how the types of `typing` look at run time, and which part of them is a column, a shape, a dtype.
Refuses to know: values. What an annotation leaves open is open in the kind, and the run decides.
"""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

from wengert.arrays import FLOAT32, FLOAT64, Float32, HostArray, dtype_from
from wengert.graph.kinds import Column, Kind, Role, Shape, kind


def shape_from(annotation: object) -> Shape | None:
    """The shape that `tuple[Literal[2], Literal[3]]` states; None unless every dimension is a literal."""
    if get_origin(annotation) is not tuple:
        return None
    dims = get_args(annotation)
    sizes = [get_args(d)[0] for d in dims if get_origin(d) is Literal]
    return tuple(sizes) if len(sizes) == len(dims) else None


def kind_from_data(data: object, role: Role) -> Kind:
    """The kind of expressions whose Data is annotated as `data`."""
    if data is float:
        return kind(Column.DOUBLE, (), FLOAT64, "cpu", role)
    if data is Float32:
        return kind(Column.FLOAT, (), FLOAT32, "cpu", role)
    origin = get_origin(data) or data
    if origin is HostArray or getattr(origin, "__name__", "") in ("Array", "ndarray"):
        return array_from(get_args(data), role)
    stated = isinstance(origin, type) and origin is not Any
    return kind(Column.OTHER, None, origin if stated else None, "cpu", role)


def array_from(arguments: tuple[Any, ...], role: Role) -> Kind:  # Any: the arguments of a typing alias
    """The kind that the parameters `[Shape, DType, Device]` of an array type state."""
    shape = shape_from(arguments[0]) if arguments else None
    dtype = dtype_from(arguments[1]) if len(arguments) > 1 else None
    return kind(Column.ARRAY, shape, dtype, "cpu", role)
