"""Arguments that are more than one shape or one axis: starred operands, shifts, cuts, pairs of axes.

Knows: the ways in which a program writes them, and that what it does not state is unknown.
Refuses to know: which rule asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from mypy.nodes import ARG_STAR, Expression, ListExpr, StarExpr, TupleExpr
from mypy.types import TupleType, Type, TypeVarType, get_proper_type

from wengert_mypy.calls import Call
from wengert_mypy.dimensions import Unknown, integer, is_number, shape_or_none
from wengert_shapes.rules import Shape

Integers: TypeAlias = Sequence[int | None]  # None: one that the program does not state


def operands(call: Call, of: int) -> list[Shape | None]:
    """The shapes of all operands of a starred parameter, None where one is unknown."""
    if ARG_STAR in call.ctx.arg_kinds[of]:
        raise Unknown
    return [shape_or_none(t) for t in call.ctx.arg_types[of]]


def several(call: Call, of: int | str) -> Integers | None:
    """Integers in a tuple or a list; None for a single number."""
    t = call.type(of)
    return None if t is None else _several(call, t, call.expression(of))


def _several(call: Call, t: Type, written: Expression) -> Integers | None:
    proper = get_proper_type(t)
    if isinstance(proper, TupleType):
        return [integer(item) for item in proper.items]
    if isinstance(written, ListExpr) and not any(isinstance(x, StarExpr) for x in written.items):
        return [integer(call.ctx.api.get_expression_type(x)) for x in written.items]
    if not is_number(proper.upper_bound if isinstance(proper, TypeVarType) else proper):
        raise Unknown
    return None


def pairs_of_axes(call: Call, of: int | str, default: int) -> int | tuple[Sequence[int], Sequence[int]]:
    """Number of axes, or the axes of the left and of the right operand."""
    t = call.type(of)
    if t is None:
        return default
    proper, written = get_proper_type(t), call.expression(of)
    if not isinstance(proper, TupleType):
        return _stated([integer(t)])[0]
    sides = written.items if isinstance(written, TupleExpr) else [written] * len(proper.items)
    if len(proper.items) != 2 or len(sides) != 2:
        raise Unknown
    found = [_several(call, item, side) for item, side in zip(proper.items, sides, strict=True)]
    left, right = (
        _stated([integer(item)] if axes is None else axes)
        for item, axes in zip(proper.items, found, strict=True)
    )
    return left, right


def _stated(numbers: Integers) -> list[int]:
    known = [n for n in numbers if n is not None]
    if len(known) < len(numbers):
        raise Unknown
    return known
