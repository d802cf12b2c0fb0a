"""Shapes that are not known any more, with where they were lost: `[wengert_mypy] strict_shapes = true`.

Knows: that a shape is lost by an annotation without one, by a function of the user that returns one, or by an operation
that depends on what only the run knows; and that each is told once, where it is used first.
Refuses to know: rules; single dimensions that are not known, which `int` says on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from mypy.nodes import CallExpr, Expression, IndexExpr, MemberExpr, NameExpr, OpExpr, RefExpr, UnaryExpr, Var
from mypy.plugin import MethodContext
from mypy.types import AnyType, Instance, TupleType, Type, TypeOfAny, UnionType, get_proper_type

from wengert_mypy.calls import Context
from wengert_mypy.checker import as_base, expected
from wengert_mypy.names import ANY_SHAPE, ARRAY_OPERAND, MASK, NDARRAY

_ADVICE: Final = "state it, as in wg.ArrayLayer[tuple[Batch, Literal[784]]] or wg.literal(array, Batch, 784)"


def told(ctx: Context, name: str, result: Type, known: Callable[[str, Type], bool]) -> None:
    """Say that the shape of a result is not known, and why; `known` tells operations, which say it of their own."""
    stated = expected(ctx.api)
    if not _lost(result) or _refused(result) or (stated is not None and _has_shape(stated)):
        return
    operands = list(_operands(ctx))
    if any(_refused(t) for _, t in operands):
        return
    for place, (x, t) in enumerate(operands):
        if not _lost(t):
            continue
        if not _operation(ctx, x, t, known):
            why = f"{name}: the shape of operand {place} is not known here{_where(x)}; {_ADVICE}"
            ctx.api.fail(why, ctx.context, code=ANY_SHAPE)
        return
    why = f"{name}: the shape of the result is not known here, for it depends on values; {_ADVICE}"
    ctx.api.fail(why, ctx.context, code=ANY_SHAPE)


def _operands(ctx: Context) -> Iterator[tuple[Expression | None, Type]]:
    if isinstance(ctx, MethodContext) and _array(ctx.type) is not None:
        yield _receiver(ctx), ctx.type
    for xs, types in zip(ctx.args, ctx.arg_types, strict=True):
        yield from zip(xs, types, strict=True)


def _receiver(ctx: MethodContext) -> Expression | None:
    x = ctx.context
    if isinstance(x, OpExpr):
        return x.right if [x.left] in ctx.args else x.left
    return x.base if isinstance(x, IndexExpr) else None


def _array(t: Type) -> Instance | None:
    proper = get_proper_type(t)
    if not isinstance(proper, Instance):
        return None
    return as_base(proper, ARRAY_OPERAND) or as_base(proper, MASK) or as_base(proper, NDARRAY)


def _lost(t: Type) -> bool:
    """True if nothing is known of an array, not even the number of its axes."""
    proper = get_proper_type(t)
    if isinstance(proper, TupleType | UnionType):
        return any(_lost(item) for item in proper.items)
    array = _array(proper)
    shape = None if array is None else get_proper_type(array.args[0])
    if array is not None and array.type.fullname == NDARRAY:
        return not isinstance(shape, TupleType)  # numpy says tuple[Any, ...]
    return isinstance(shape, AnyType)


def _refused(t: Type) -> bool:
    """True if a shape is unknown after an error, which tells of itself."""
    array = _array(t)
    shape = None if array is None else get_proper_type(array.args[0])
    return isinstance(shape, AnyType) and shape.type_of_any == TypeOfAny.from_error


def _has_shape(t: Type) -> bool:
    array = _array(t)
    return array is not None and not isinstance(get_proper_type(array.args[0]), AnyType)


def _operation(ctx: Context, x: Expression | None, t: Type, known: Callable[[str, Type], bool]) -> bool:
    if isinstance(x, OpExpr | IndexExpr | UnaryExpr):
        array = _array(t)
        return array is None or array.type.fullname != NDARRAY
    callee = x.callee if isinstance(x, CallExpr) else None
    return isinstance(callee, RefExpr) and known(callee.fullname, ctx.api.get_expression_type(callee))


def _where(x: Expression | None) -> str:
    if isinstance(x, NameExpr) and isinstance(x.node, Var):
        how = "" if x.node.is_inferred else f": the annotation of {x.name} has none"
        return f" (lost at line {x.node.line}{how})" if x.node.line > 0 else ""
    if isinstance(x, MemberExpr):
        return f" (lost in the annotation of {x.name})"
    callee = x.callee if isinstance(x, CallExpr) else None
    return f" (lost in the result of {callee.name})" if isinstance(callee, NameExpr | MemberExpr) else ""
