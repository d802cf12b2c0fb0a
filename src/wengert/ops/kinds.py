"""Shape rules that many operations share: the kind of a result from the kinds of operands.

Knows: dtypes do not mix, devices do not mix, broadcasting aligns trailing axes and never makes a shape that
no operand states when ranks differ, so that no array grows silently.
Refuses to know: which operation asks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

from wengert.arrays import FLOAT64, MASK, Axis, is_integer, shape_of
from wengert.arrays.abstract import RowCount
from wengert.errors import ArgumentError, DeviceError, DTypeError, NotDifferentiableError, ShapeError
from wengert.graph.kinds import Column, Kind, Role, Shape, kind, kind_from_data
from wengert.graph.operand import operand, shown
from wengert.site import user_position
from wengert_shapes import arrangement, rules
from wengert_shapes.algebra import Atom, Dim, atom, number


def of(data: object) -> Callable[..., Kind]:
    """The shape rule of results whose Data are of this class, whatever the operands; arrays as `HostArray[S, T]`.

    >>> of(float)(())
    Kind(double () float64 literal)
    """
    made = kind_from_data(data, Role.LITERAL)
    return lambda kinds, **attributes: made


def common(kinds: Sequence[Kind]) -> tuple[Column, Any, Any]:  # Any: dtype and device, as kinds keep them
    """Column, dtype and device of a result computed from such operands; Python numbers follow the others."""
    strong = [k for k in kinds if k.column is not Column.NUMBER]
    for k in strong:
        if k.column is Column.MASK:
            raise DTypeError("a mask (bool) has no derivative; write where(mask, 1.0, 0.0) for numbers")
        if k.column is Column.INDEX:
            advice = "x.astype(numpy.float32)" if k.role is Role.LITERAL else "astype(x, numpy.float32)"
            raise DTypeError(f"an array of {k.dtype} has no derivative; write {advice}")
        if k.column is Column.OTHER:
            raise NotDifferentiableError(
                "the Data of an operand is of a registered type, or not stated, and this operation has no rule for "
                "it; annotate what makes it, an async def as `-> ArrayLayer[...]` and a forward as "
                "`-> Do[Tape[Data, Delta]]`, or add one with extend.rule_for"
            )
    dtypes = {k.dtype for k in strong if k.dtype is not None}
    if len(dtypes) > 1:
        names = " and ".join(str(k.dtype) for k in strong)
        raise DTypeError(f"dtypes {names} do not mix; make them one, as in x.astype(numpy.float32)")
    unknown = any(k.dtype is None for k in strong)
    column = max((k.column for k in strong), default=Column.DOUBLE)
    dtype = None if unknown else next(iter(dtypes), FLOAT64)
    return column, dtype, common_device(kinds)


def common_device(kinds: Sequence[Kind]) -> Any:  # Any: "cpu" or cupy's device
    """The device of all array operands; scalars go anywhere."""
    devices = {
        str(k.device): k.device for k in kinds if k.column in (Column.ARRAY, Column.MASK, Column.INDEX)
    }
    if len(devices) > 1:
        raise DeviceError(
            f"devices {' and '.join(devices)} do not mix; copy one operand to the other device first"
        )
    return next(iter(devices.values()), "cpu")


@lru_cache(maxsize=64)
def _rows(of: int | None) -> Dim:
    """A number of rows that only the run knows."""
    name = "n" if of is None else f"n{of}"
    return atom(Atom(f"rows {name}", name, of))


@lru_cache(maxsize=4096)
def _dims(shape: Shape) -> tuple[Dim, ...]:
    """A shape as the rules of shapes take it."""
    return tuple(number(n.times) * _rows(n.of) if isinstance(n, RowCount) else number(int(n)) for n in shape)


def _size(dim: Dim | None) -> Any:  # Any: an int, or a number of rows
    assert dim is not None, "every size is known"
    if dim.value is not None:
        return dim.value
    (((count, *others), times),) = dim.terms
    if others or not isinstance(count, Atom):
        raise TypeError(f"{dim} is no multiple of the number of rows")
    return RowCount(times, cast("int | None", count.type))


def ruled(rule: Callable[..., rules.Shape | None], shapes: Sequence[Shape], *arguments: object) -> Shape:
    """The shape that a rule of `wengert_shapes` gives for operands of such shapes; `ShapeError` where they do not fit.

    >>> ruled(rules.matmul, [(2, 3), (3, 4)])
    (2, 4)
    """
    try:
        made = rule(*map(_dims, shapes), *arguments)
    except rules.Misfit as misfit:
        raise ShapeError(str(misfit)) from None
    assert made is not None, "every shape is known"
    return tuple(map(_size, made))


def broadcast(*shapes: Shape) -> Shape:
    """The broadcast shape; `ShapeError` where it does not exist, or makes n times n elements of (n, 1) and (n,)."""
    first = shapes[0] if shapes else ()
    return first if all(shape == first for shape in shapes) else ruled(rules.broadcast, shapes)


def broadcast_batch(*shapes: Shape) -> Shape:
    """The common batch shape; here ranks may differ freely, as the standard has it."""
    rank = max(map(len, shapes), default=0)
    return broadcast(*((1,) * (rank - len(s)) + s for s in shapes))


def elementwise(kinds: Sequence[Kind]) -> Kind:
    """One operand, its shape."""
    column, dtype, device = common(kinds)
    return kind(column, kinds[0].shape, dtype, device)


def broadcasting(kinds: Sequence[Kind]) -> Kind:
    """All operands broadcast."""
    column, dtype, device = common(kinds)
    return kind(column, _joint_shape(kinds), dtype, device)


def comparison(kinds: Sequence[Kind]) -> Kind:
    """A mask of the broadcast shape; integers are compared with integers and with Python's numbers."""
    integers = {k.column for k in kinds} in ({Column.INDEX}, {Column.INDEX, Column.NUMBER})
    device = common_device(kinds) if integers else common(kinds)[2]
    return kind(Column.MASK, _joint_shape(kinds), MASK, device)


def predicate(kinds: Sequence[Kind]) -> Kind:
    """A mask of the shape of the operand."""
    _, _, device = common(kinds)
    return kind(Column.MASK, kinds[0].shape, MASK, device)


def logical(kinds: Sequence[Kind]) -> Kind:
    """Masks to a mask."""
    for k in kinds:
        if k.column is not Column.MASK:
            raise DTypeError(f"expected masks (booleans), got {k.text()}; compare first, as in greater(x, 0)")
    return kind(Column.MASK, _joint_shape(kinds), MASK, common_device(kinds))


def choice(kinds: Sequence[Kind]) -> Kind:
    """`where`: a mask and two operands of one dtype."""
    if kinds[0].column is not Column.MASK:
        raise DTypeError(f"the condition is {kinds[0].text()}, not a mask; write greater(x, 0) or the like")
    column, dtype, _ = common(kinds[1:])
    device = common_device(kinds)
    shape = _joint_shape(kinds)
    if shape and column is not Column.ARRAY:
        column = Column.ARRAY
    return kind(column, shape, dtype, device)


def _joint_shape(kinds: Sequence[Kind]) -> Shape | None:
    shapes = [k.shape for k in kinds if k.column is not Column.NUMBER]
    if any(s is None for s in shapes):
        return None
    return broadcast(*(s for s in shapes if s is not None))


def array_of(kinds: Sequence[Kind]) -> tuple[Shape | None, Any, Any]:  # Any: dtype and device
    """Shape, dtype and device of the first operand, which has to be an array."""
    column, dtype, device = common(kinds)
    if column is not Column.ARRAY:
        raise ShapeError("expected an array, got a scalar")
    return kinds[0].shape, dtype, device


def shape_of_operand(x: object) -> Shape:
    """The shape of an array or a layer before it is in a graph; `ShapeError` for a scalar and a shape not known yet."""
    _, of = operand(x)
    if of.column not in (Column.ARRAY, Column.INDEX, Column.MASK):
        raise ShapeError("expected an array, got a scalar")
    if of.shape is None:
        raise ShapeError(
            "the shape is known only in the run; annotate what makes the operand, as in `-> ArrayLayer[...]`"
        )
    return of.shape


def arrays_of(kinds: Sequence[Kind]) -> tuple[list[Shape], Any, Any]:  # Any: dtype and device
    """The shapes that are known, dtype and device of operands that have to be arrays."""
    if not kinds:
        raise ShapeError("expected at least one array")
    column, dtype, device = common(kinds)
    if column is not Column.ARRAY or any(k.column is not Column.ARRAY for k in kinds):
        raise ShapeError("expected arrays, got a scalar")
    return [k.shape for k in kinds if k.shape is not None], dtype, device


def axis_in(axis: int, rank: int, shape: Shape) -> int:
    """A non-negative axis; `ShapeError` for one out of range."""
    if not is_integer(axis):
        raise ArgumentError(f"an axis is an integer; got {axis!r:.60}")
    try:
        return rules.axis_in(int(axis), rank, _dims(shape))
    except rules.Misfit as misfit:
        raise ShapeError(str(misfit)) from None


def axes_in(axis: int | tuple[int, ...] | None, shape: Shape) -> tuple[int, ...]:
    """All axes named by `axis`, non-negative and distinct."""
    rank = len(shape)
    if axis is None:
        return tuple(range(rank))
    axes = tuple(axis_in(a, rank, shape) for a in (axis if isinstance(axis, tuple) else (axis,)))
    if len(set(axes)) != len(axes):
        raise ShapeError(f"axes {axis} name one axis of shape {shape} twice")
    return axes


def count(axis: Axis, shape: Shape) -> int:
    """The number of elements that a reduction over `axis` joins into one."""
    return math.prod(shape[a] for a in axes_in(axis, shape))


def reduced_shape(shape: Shape, axis: Axis, keepdims: bool) -> Shape:
    """The shape that a reduction over `axis` leaves."""
    if not isinstance(keepdims, bool):
        raise ArgumentError(f"keepdims is True or False; got {keepdims!r:.60}")
    return ruled(rules.reduced, [shape], axes_in(axis, shape), keepdims)


def reduction(kinds: Sequence[Kind], *, axis: Axis = None, keepdims: bool = False) -> Kind:
    """One operand without the axes `axis`, or with size 1 there; a scalar has none to name."""
    column, dtype, device = common(kinds)
    shape = kinds[0].shape
    if column is not Column.ARRAY:
        if axis is not None or keepdims:
            raise ShapeError(f"axis {axis} is out of range for a scalar")
        return kind(column, (), dtype, device)
    return kind(Column.ARRAY, None if shape is None else reduced_shape(shape, axis, keepdims), dtype, device)


def segments(kinds: Sequence[Kind], *, num_segments: int) -> Kind:
    """An array and an id for each of its slices, to one slice for each segment."""
    shape, dtype, device = array_of(kinds[:1])
    if kinds[1].column is not Column.INDEX:
        raise DTypeError(f"segment ids are integers, not {kinds[1].text()}")
    if num_segments < 0:
        raise ArgumentError(f"num_segments is 0 or more, not {num_segments}")
    if shape is None or kinds[1].shape is None:
        return kind(Column.ARRAY, None, dtype, device)
    rest = ruled(arrangement.of_segments, [shape, kinds[1].shape])
    return kind(Column.ARRAY, (num_segments, *rest), dtype, device)


def along_axis(kinds: Sequence[Kind], *, axis: int) -> Kind:
    """One array, each line along `axis` on its own."""
    shape, dtype, device = array_of(kinds)
    if shape is not None:
        axis_in(axis, len(shape), shape)
    return kind(Column.ARRAY, shape, dtype, device)


def integers(x: object, what: str) -> tuple[int, ...]:
    """A static argument that is an int or a tuple of ints, as a tuple; errors name `what` takes it."""
    if is_integer(x):
        return (int(x),)
    if isinstance(x, (tuple, list)) and all(hasattr(n, "__index__") and not shape_of(n) for n in x):
        return tuple(int(n) for n in x)
    raise ArgumentError(f"{what}: expected an int or a tuple of ints, got {shown(x)}\n  at {user_position()}")


def segments_of_rows(kinds: Sequence[Kind], *, num_segments: int) -> Kind:
    """`segments` of many rows at once, each with ids of its own."""
    x = kinds[0]
    shape = x.shape or ()
    return kind(Column.ARRAY, (shape[0], num_segments, *shape[2:]), x.dtype, x.device)
