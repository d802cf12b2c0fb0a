"""Advice where mypy alone accepts a layer that the run would refuse, and the canary.

Knows: which functions ask for computed values; what numpy's stubs and typeshed let through.
Refuses to know: shapes, registrations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from mypy.nodes import CallExpr, Context, MemberExpr, NameExpr, StrExpr
from mypy.plugin import CheckerPluginInterface, FunctionContext, FunctionSigContext, MethodContext
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    LiteralType,
    TupleType,
    Type,
    TypeOfAny,
    UnionType,
)

from wengert_mypy.checker import changed, formatted, opened
from wengert_mypy.names import EXPRESSION, LAZY, WEIGHT

_ARRAY: Final = (
    "a numpy array",
    "use functions of wengert, as in `wengert.exp(layer)`, or `layer.predict().run()` for its value",
)
_TRUTH: Final = ("the truth", "use `where(greater(layer, 0), ...)`, or `await` it and ask its value")

EQUALITIES: Final[Mapping[str, str]] = {
    "__eq__": "use `wengert.equal(a, b)`, or `is` for identity",
    "__ne__": "use `wengert.not_equal(a, b)`, or `is not` for identity",
}
REDUCTIONS: Final = (
    "numpy._core.fromnumeric.",
    "numpy.core.fromnumeric.",
)  # where numpy's stubs have mean and others
LAZY_FUNCTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "numpy.asarray": _ARRAY,
    "numpy.array": _ARRAY,
    "numpy._core.multiarray.asarray": _ARRAY,
    "numpy._core.multiarray.array": _ARRAY,
    "numpy.core.multiarray.asarray": _ARRAY,
    "numpy.core.multiarray.array": _ARRAY,
    "numpy._core.multiarray.concatenate": _ARRAY,
    "numpy._core.shape_base.hstack": _ARRAY,
    "numpy._core.shape_base.stack": _ARRAY,
    "numpy._core.shape_base.vstack": _ARRAY,
    "builtins.bool": _TRUTH,
    "builtins.any": _TRUTH,
    "builtins.all": _TRUTH,
}


def checked_lazy(ctx: FunctionContext, what: str, advice: str, within: bool = True) -> Type:
    """Refuse expressions, those `within` a list too, for a function that would need their values."""
    for x in ctx.args[0] if ctx.args else []:
        # on its own, because as an argument a list of layers is a list of `object`
        t = ctx.api.get_expression_type(x)
        if within or (isinstance(found := opened(t), Instance) and found.type.has_base(EXPRESSION)):
            _refuse(ctx.api, t, ctx.context, what, advice)
    return ctx.default_return_type


def of_numpy(ctx: FunctionSigContext) -> FunctionLike:
    """The signature of a function of numpy: one error about an expression, and not one with all overloads."""
    signature, call = ctx.default_signature, ctx.context
    name = (
        call.callee.name
        if isinstance(call, CallExpr) and isinstance(call.callee, NameExpr | MemberExpr)
        else "a function"
    )
    advice = f"use `wengert.{name}` if there is one, or `layer.predict().run()` for its value"
    refused = [
        _refuse(ctx.api, ctx.api.get_expression_type(x), call, f"numpy.{name}", advice)
        for given in ctx.args[:1]
        for x in given
    ]
    if not any(refused) or not isinstance(signature, CallableType):
        return signature
    unknown = AnyType(TypeOfAny.from_error)
    return changed(signature, arg_types=[unknown] * len(signature.arg_types), ret_type=unknown)


def checked_equality(ctx: MethodContext, advice: str) -> Type:
    """Refuse expressions on either side of `==` and `!=`, which no class can take out of its interface."""
    sides = [ctx.type, *(t for given in ctx.arg_types for t in given)]
    for side in sides:
        if _refuse(ctx.api, side, ctx.context, "comparison", advice):
            break
    return ctx.default_return_type


def checked_format(ctx: MethodContext) -> Type:
    """Refuse expressions with a format in an f-string; without one they are shown as they are."""
    found = formatted(ctx.context)
    if found is not None:
        x, form = found
        what = f"the format {form.value!r}" if isinstance(form, StrExpr) else "a format"
        _refuse(ctx.api, ctx.api.get_expression_type(x), x, what, "use `layer.predict().run()`")
    return ctx.default_return_type


def _refuse(api: CheckerPluginInterface, t: Type, where: Context, what: str, advice: str) -> bool:
    """An error if there is an expression in a type."""
    found = next(_expressions(t), None)
    if found is None:
        return False
    weight = found.type.has_base(WEIGHT)
    why = "its value now is its `.data`" if weight else "it has no value before a run"
    api.fail(f'{what} of "{found.type.name}", which is an expression: {why}; {advice}', where, code=LAZY)
    return True


def _expressions(t: Type) -> Iterator[Instance]:
    """The expression types in a type, and in what its lists and tuples hold."""
    waiting = [t]
    while waiting:
        proper = opened(waiting.pop())
        if isinstance(proper, TupleType | UnionType):
            waiting += proper.items
        elif isinstance(proper, Instance) and proper.type.has_base(EXPRESSION):
            yield proper
        elif isinstance(proper, Instance) and proper.type.has_base("typing.Iterable"):
            waiting += proper.args


def canary(ctx: FunctionContext) -> Type:
    """`plugin_active()` where this plugin is there to be asked."""
    return LiteralType(True, ctx.api.named_generic_type("builtins.bool", []))
