"""The result of a call, with the shape that a rule gives it.

Knows: that of several arrays in a tuple each has the shape, that what is no array stays as it is, and that shapes
that do not fit are an error of the user's line.
Refuses to know: which rule is asked.
"""

from __future__ import annotations

from mypy.nodes import CallExpr, MemberExpr, NameExpr
from mypy.plugin import Plugin
from mypy.types import AnyType, Instance, TupleType, Type, TypeOfAny, TypeVarType, get_proper_type

from wengert_mypy.calls import Call, Context, Rule
from wengert_mypy.checker import outright
from wengert_mypy.dimensions import Unknown, Writer
from wengert_mypy.names import ARRAY_OPERAND, MASK, SHAPE
from wengert_mypy.rules import Misfit, Shape


def called(ctx: Context, default: str) -> str:
    """The name of the operation that is called, as the user's line has it."""
    callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
    return callee.name if isinstance(callee, NameExpr | MemberExpr) else default


def sharpened(plugin: Plugin, ctx: Context, name: str, rule: Rule) -> Type:
    """The type of the result with the shape that the rule gives, or an error where shapes do not fit."""
    try:
        return with_shape(plugin, ctx, rule(Call(ctx)))
    except Misfit as error:
        with outright(ctx.api, ctx.context):
            ctx.api.fail(f"{name}: {error}", ctx.context, code=SHAPE)
        return with_shape(plugin, ctx, None)
    except Unknown:
        return ctx.default_return_type


def with_shape(plugin: Plugin, ctx: Context, shape: Shape | TypeVarType | None) -> Type:
    """The result of a call with this shape, Any if None; results that are no arrays stay as they are."""
    return of_shape(plugin, ctx, shape, ctx.default_return_type)


def of_shape(plugin: Plugin, ctx: Context, shape: Shape | TypeVarType | None, t: Type) -> Type:
    """A type of arrays with this shape, Any if None; other types stay as they are."""
    if isinstance(shape, TypeVarType):
        return _of_shape(shape, t)
    if shape is None:
        return _of_shape(AnyType(TypeOfAny.special_form), t)
    return _of_shape(Writer(plugin, ctx.api.named_generic_type).shape_type(shape), t)


def _of_shape(made: Type, t: Type) -> Type:
    """An array of another shape; of several in a tuple each."""
    result = get_proper_type(t)
    if isinstance(result, TupleType):
        return result.copy_modified(items=[_of_shape(made, item) for item in result.items])
    if not isinstance(result, Instance) or not result.args:
        return t
    if not (result.type.has_base(ARRAY_OPERAND) or result.type.has_base(MASK)):
        return t
    return Instance(result.type, [made, *result.args[1:]])
