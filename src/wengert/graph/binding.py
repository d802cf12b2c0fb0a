"""Data from elsewhere in the place of a weight's own: for good, or for one run.

Knows: which numbers and arrays a weight can have as its data; that those of one run are held as a weight holds its own.
Refuses to know: runs and commits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from wengert.arrays import (
    ARRAY_CLASS,
    ArrayLiteral,
    Cpu,
    Float32,
    Floating,
    Gpu,
    Value,
    device_name,
    device_of,
    dtype_of,
    interchanged,
    is_array,
    is_float32,
    shape_of,
)
from wengert.delta import Parameter
from wengert.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from wengert.graph.kinds import Column, Role
from wengert.graph.node import Expression
from wengert.graph.operand import shown
from wengert.graph.store import Ref
from wengert.site import user_position

# Any: a value of a user's class
Numbers: TypeAlias = (
    ArrayLiteral[Floating, Cpu] | ArrayLiteral[Floating, Gpu] | Float32 | float | Parameter[Any, Any]
)
Data: TypeAlias = Mapping[Any, Numbers]  # Any: a dictionary's keys are of one class, which is its own
Refs: TypeAlias = dict[Expression, Ref]


_ARRAY: Final = Column.ARRAY  # a name of a module is found faster than a member of an enumeration
_WEIGHT: Final = Role.WEIGHT


class At:
    """A question about `asked` in a run where some weights have other data."""

    __slots__ = ("asked", "bound", "refs")

    def __init__(self, asked: object, refs: Refs) -> None:
        self.asked = asked
        self.refs = refs
        # Any: what an executor remembers: the plan that it answered with, and the same with these data
        self.bound: tuple[Any, Any] | None = None

    def __reduce__(self) -> tuple[type[At], tuple[object, Refs]]:
        return At, (self.asked, self.refs)


def at(who: str, asked: object, data: Data | None) -> object:
    """A question with other data for some weights, checked and not copied; without any the asked itself."""
    if data is None:
        return asked
    return At(asked, {w: Ref(checked_data(who, w, x)) for w, x in by_weight(who, data)})


# Any: weights of every class; numbers, arrays and deltas
def by_weight(who: str, given: object) -> list[tuple[Any, Any]]:
    """The items of a dictionary by weight; refuses another key."""
    if given.__class__ is not dict and not isinstance(given, Mapping):
        raise ArgumentError(
            f"{who}: expected a dictionary by weight, as in {{w: array}}; got {shown(given)}\n"
            f"  at {user_position()}"
        )
    for w in given:
        if not isinstance(w, Expression) or w.kind.role < _WEIGHT:
            raise ArgumentError(
                f"{who}: a key is {shown(w)}, not a weight; write {{w: array}} with the weight itself\n"
                f"  at {user_position()}"
            )
    return list(given.items())


def checked_data(who: str, w: Expression, x: Value) -> Value:
    """One number or array for a weight: of its shape, dtype and device; or a value of a user's class."""
    of = w.kind
    like = x.__class__ is ARRAY_CLASS and of.column is _ARRAY and of.device == "cpu"
    if like and shape_of(x) == of.shape and dtype_of(x) == of.dtype:
        return x
    if w.kind.column is Column.OTHER:
        if type(x) is w.kind.dtype:
            return x
        raise DTypeError(f"{who}: {w!r} takes a {w.kind.text()}, got {shown(x)}\n  at {user_position()}")
    if w.kind.column is not Column.ARRAY:
        convert: Callable[[Any], Value] = Float32 if w.kind.column is Column.FLOAT else float
        if isinstance(x, (int, float)) or (is_float32(x) and convert is Float32):
            return convert(x)
        raise DTypeError(f"{who}: {w!r} takes a number, got {shown(x)}\n  at {user_position()}")
    if (
        not is_array(x)
        and (array := None if isinstance(x, (float, int, Expression)) else interchanged(x)) is not None
    ):
        x = array  # over the memory of another library's
    if not is_array(x):
        raise DTypeError(
            f"{who}: {w!r} takes an array of {w.kind.dtype}, got {shown(x)}; write numpy.asarray(x, dtype)\n"
            f"  at {user_position()}"
        )
    if shape_of(x) != w.kind.shape:
        raise ShapeError(
            f"{who}: an array of shape {shape_of(x)} for {w!r}, which has {w.kind.shape}\n  at {user_position()}"
        )
    if dtype_of(x) != w.kind.dtype:
        raise DTypeError(
            f"{who}: an array of {dtype_of(x)} for {w!r}; write x.astype({w.kind.dtype}) if that is meant\n"
            f"  at {user_position()}"
        )
    if device_of(x) != w.kind.device:
        raise DeviceError(
            f"{who}: an array on {device_name(device_of(x))} for {w!r}, which is on {device_name(w.kind.device)}\n"
            f"  at {user_position()}"
        )
    return x
