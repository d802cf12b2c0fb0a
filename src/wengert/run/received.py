"""Values at the border: what comes in from a user's `Do`, and what goes out to the user.

Knows: that what comes in has to be what the node's kind says and is kept as a private copy, and that
what goes out never aliases what an evaluation still needs (S11).
Refuses to know: how values are computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from wengert.arrays import Float32, Value, as_readonly, dtype_of, freeze, host_array, is_array, shape_of
from wengert.arrays.ownership import owners
from wengert.control import UnitContinuation
from wengert.differentiable import Tape
from wengert.errors import ArgumentError, DTypeError, ShapeError
from wengert.graph.kinds import CLASSES, Column, Kind
from wengert.graph.node import Expression, Node
from wengert.graph.operand import shown, value_kind
from wengert.graph.store import Ref
from wengert.lazy import LazyDelta


@dataclass(frozen=True)
class OwnTape(Tape[Any, Any]):  # Any: of expressions with Data of every type
    """A tape that an evaluation made: its data need no copy."""

    source: Expression | None = None


def checked(tape: object, node: Node) -> Tape[Any, Any]:
    """The tape, if it is one."""
    if not isinstance(tape, Tape):
        raise ArgumentError(
            f"the forward of {node!r} gave {shown(tape)}, not a Tape; "
            f"write Do.now(Tape(data, backward)) or use `.forward` of a layer"
        )
    return tape


def received(tape: Tape[Any, Any], node: Node) -> Value:
    """The data of a tape, if they are what the node's kind says."""
    data, stated = tape.data, node.kind
    if stated.column is Column.DOUBLE and isinstance(data, (int, float)):
        return float(data)
    if stated.column is Column.OTHER:
        return data
    check_stated(stated, value_kind(data), data)
    return data if isinstance(tape, OwnTape) or not is_array(data) else freeze(data)


def check_stated(stated: Kind, actual: Kind, data: Value = None) -> None:
    """Refuse what is not as the annotation states; what either leaves open agrees with everything."""
    if stated.column is Column.OTHER:
        return
    if actual.column is Column.OTHER:
        raise DTypeError(f"stated is {_text(stated)}, the run gave {shown(data)}")
    if actual.column is not stated.column or _differ(stated.dtype, actual.dtype):
        raise DTypeError(f"stated is {_text(stated)}, the run gave {_text(actual)}")
    if _differ(stated.shape, actual.shape):
        raise ShapeError(f"stated is {_text(stated)}, the run gave {_text(actual)}")


def _differ(stated: object, actual: object) -> bool:
    return stated is not None and actual is not None and stated != actual


def _text(of: Kind) -> str:
    cls = CLASSES.get(of.column)
    return f"{cls.__name__ if cls else 'an array'} {of.text()}"


def checked_delta(delta: Value, x: Expression) -> Value:
    """A delta that was sent by hand, if it is one of `x`: its data's shape and dtype, or a sparse form."""
    of = x.kind
    if of.column is Column.OTHER or of.shape is None:
        return delta
    if isinstance(delta, LazyDelta):
        delta.check(of.shape)
        return delta
    if of.column in (Column.DOUBLE, Column.FLOAT) and isinstance(delta, Real):
        return Float32(delta) if of.column is Column.FLOAT else float(delta)
    if shape_of(delta) != of.shape:
        raise ShapeError(f"a delta of shape {shape_of(delta)} was sent to {x!r}, whose delta has its shape")
    if dtype_of(delta) != of.dtype and not isinstance(delta, (int, float)):
        raise DTypeError(f"a delta of {dtype_of(delta)} was sent to {x!r}, whose delta has its dtype")
    return delta


def given(value: Value, of: Kind, buffers: Mapping[int, Ref]) -> Value:
    """Data for a user inside the run: arrays cannot be written to, and no commit writes to them later."""
    if of.column is Column.FLOAT:
        return Float32(value)  # numpy's `where` gives an array of shape () for numbers, too
    if of.column in (Column.ARRAY, Column.MASK) or is_array(value):
        array = host_array(value)
        cell = next((buffers[id(x)] for x in owners(array) if id(x) in buffers), None)
        if cell is not None and (id(array) not in buffers or is_array(array.base)):
            array = array.copy()  # of a part of a weight's data, or of an array that several weights live in
        elif cell is not None:
            cell.exposed = True
        return as_readonly(array)
    return value


def handed_over(value: Value, of: Kind, buffers: Mapping[int, Ref]) -> Value:
    """Data for a user after the run: a new array, whatever the expression was."""
    column = of.column
    if column is Column.ARRAY or column is Column.MASK:
        if not is_array(value):
            return host_array(value)
        fresh = value.base is None and value.flags.writeable and id(value) not in buffers
        return value if fresh else value.copy()
    if column is Column.FLOAT:
        return Float32(value)
    return float(value) if column is Column.DOUBLE else value


def nowhere(delta: object) -> UnitContinuation[None]:
    """The backward of a constant: the delta is never run."""
    return UnitContinuation.now(None)
