"""Functions of which mypy infers no type: `functools.partial` of an operation, whose arguments are kept so that the
later call is checked as if all had been given, and the lambdas and generic functions that blocks are made of.

Knows: that mypy infers no type of a generic or overloaded function in `partial`, and of a reduction a wrong one; that
what a lambda of a block takes and gives is found where the block is used.
Refuses to know: rules, and functions of users, which are left to mypy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mypy.nodes import ARG_NAMED, ARG_POS, ArgKind, CallExpr, Expression, LambdaExpr, RefExpr, TempNode
from mypy.plugin import CheckerPluginInterface, FunctionContext, FunctionSigContext, MethodContext, Plugin
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    Overloaded,
    Type,
    TypeOfAny,
    TypeVarType,
    get_proper_type,
)

from wengert_mypy.block_types import arity
from wengert_mypy.checker import as_partial, changed, erased, expected, replaced, result_of_all, stored
from wengert_mypy.names import FOLD
from wengert_mypy.results import of_shape

PARTIAL: Final = "functools.partial"
FUNCTIONS: Final = frozenset({f"{FOLD}functions.Function", f"{FOLD}functions.ScopedLayer"})
TRANSFORM: Final = f"{FOLD}data.InputTransform"
_KEPT: Final = "__wengert_partial"
_ANYTHING: Final = AnyType(TypeOfAny.special_form)


def taken(ctx: FunctionSigContext, known: Callable[[str, Type], bool]) -> CallableType:
    """The signature of `partial` without what it infers of the function, where that is an operation."""
    signature = ctx.default_signature
    if _operation(ctx.api, ctx.args[0], known) is None:
        return signature
    result = get_proper_type(signature.ret_type)
    assert isinstance(result, Instance), "partial is a class"
    made = Instance(result.type, [_ANYTHING])
    return changed(signature, arg_types=[_ANYTHING, *signature.arg_types[1:]], ret_type=made, variables=[])


def kept(plugin: Plugin, ctx: FunctionContext, known: Callable[[str, Type], bool]) -> Type | None:
    """The type of a partial operation, with what has been given; None where the function is another."""
    callee = _operation(ctx.api, ctx.args[0], known)
    made = get_proper_type(ctx.default_return_type)
    if callee is None or not isinstance(made, Instance):
        return None
    given = [x for x in _given(ctx) if x[0] is not ctx.args[0][0]]
    types: list[Type] = [ctx.api.get_expression_type(x) for x, _, _ in given]
    if any(kind not in (ARG_POS, ARG_NAMED) for _, kind, _ in given):
        return None
    name = callee.fullname
    t = ctx.api.get_expression_type(callee)
    function = ctx.api.named_generic_type("builtins.function", [])
    held = CallableType(types, [k for _, k, _ in given], [n for _, _, n in given], t, function, name)
    result = of_shape(plugin, ctx, None, erased(_result(get_proper_type(t))))
    return Instance(made.type, [result]).copy_with_extra_attr(_KEPT, held)


def completed(ctx: MethodContext) -> Type:
    """The result of a call of a partial operation; of another function mypy's own."""
    receiver = get_proper_type(ctx.type)
    attributes = receiver.extra_attrs.attrs if isinstance(receiver, Instance) and receiver.extra_attrs else {}
    held = get_proper_type(attributes.get(_KEPT, _ANYTHING))
    if not isinstance(held, CallableType):
        return as_partial(ctx)
    later = _given(ctx)
    again = {name for _, _, name in later if name is not None}
    before: list[tuple[Expression, ArgKind, str | None]] = [
        (TempNode(t, context=ctx.context), kind, name)
        for t, kind, name in zip(held.arg_types, held.arg_kinds, held.arg_names, strict=True)
        if name not in again
    ]
    return result_of_all(ctx.api, held.ret_type, [*before, *later], ctx.context, held.name or "")


def _operation(
    api: CheckerPluginInterface, given: list[Expression], known: Callable[[str, Type], bool]
) -> RefExpr | None:
    x = given[0] if given else None
    if not isinstance(x, RefExpr) or not x.fullname:
        return None
    return x if known(x.fullname, api.get_expression_type(x)) else None


def _given(ctx: FunctionContext | MethodContext) -> list[tuple[Expression, ArgKind, str | None]]:
    """All arguments of a call, each once, as they are written: one may stand for several parameters."""
    found: dict[int, tuple[Expression, ArgKind, str | None]] = {}
    for xs, kinds, names in zip(ctx.args, ctx.arg_kinds, ctx.arg_names, strict=True):
        found.update({id(x): (x, kind, name) for x, kind, name in zip(xs, kinds, names, strict=True)})
    order = ctx.context.args if isinstance(ctx.context, CallExpr) else []
    return [found[id(x)] for x in order if id(x) in found]


def _result(t: Type) -> Type:
    """The result of a function, whatever it is called with."""
    if isinstance(t, Instance):
        method = t.type.get("__call__")
        t = get_proper_type(method.type) if method is not None and method.type is not None else t
    if isinstance(t, Overloaded):
        t = t.items[0]
    return t.ret_type if isinstance(t, CallableType) else _ANYTHING


def of_lambda(ctx: FunctionSigContext) -> FunctionLike:
    """The signature of `Function` for a lambda or a generic function: what it gives is found where it is used."""
    signature = ctx.default_signature
    function = ctx.args[0][0] if ctx.args and ctx.args[0] else None
    result = get_proper_type(signature.ret_type)
    if function is None or not isinstance(result, Instance):
        return signature
    if isinstance(function, LambdaExpr):
        count = len(function.arg_names)
    else:
        t = get_proper_type(stored(ctx.api, function))
        known = arity(t) if isinstance(t, CallableType) and t.variables and not t.is_type_obj() else None
        if known is None:
            return signature
        count = known
    fallback = ctx.api.named_generic_type("builtins.function", [])
    names = [None] * count
    takes = CallableType([_ANYTHING] * count, [ARG_POS] * count, names, _ANYTHING, fallback)
    return changed(
        signature,
        arg_types=[takes if isinstance(function, LambdaExpr) else _ANYTHING, *signature.arg_types[1:]],
        ret_type=Instance(result.type, [_ANYTHING, _ANYTHING]),
        variables=[],
    )


def of_transform(ctx: FunctionSigContext) -> FunctionLike:
    """The signature of `InputTransform` for a lambda that nothing tells what it takes: any data, to what it gives."""
    signature = ctx.default_signature
    function = ctx.args[0][0] if ctx.args and ctx.args[0] else None
    takes = get_proper_type(signature.arg_types[0])
    if not isinstance(function, LambdaExpr) or not isinstance(takes, CallableType) or expected(ctx.api):
        return signature
    data = get_proper_type(takes.arg_types[0])
    return replaced(signature, {data.id: _ANYTHING}) if isinstance(data, TypeVarType) else signature
