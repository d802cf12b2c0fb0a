"""Calls of functions whose parameters have computed dimensions, such as `Mul[Heads, Literal[8]]`.

Knows: that such a dimension is computed once the type variables in it are known from the other arguments, and
is unknown, never wrong, where they are not: equations are not solved.
Refuses to know: operations.
"""

from __future__ import annotations

from typing import TypeAlias

from mypy.nodes import Expression
from mypy.plugin import CheckerPluginInterface, FunctionSigContext, MethodSigContext
from mypy.types import AnyType, CallableType, Instance, Overloaded, Type, TypeOfAny, get_proper_type

from wengert_mypy.checker import changed, inferred
from wengert_mypy.dimensions import Writer, has_computed

SignatureContext: TypeAlias = FunctionSigContext | MethodSigContext


def takes_computed(callee: Type | None) -> bool:
    """Tell whether a parameter has a dimension to compute; overloaded functions are left to mypy."""
    t = None if callee is None else get_proper_type(callee)
    return (
        isinstance(t, CallableType)
        and not isinstance(t, Overloaded)
        and any(has_computed(formal) for formal in t.arg_types)
    )


def solved(ctx: SignatureContext, writer: Writer) -> CallableType:
    """The signature with its type variables as the arguments make them, and its dimensions computed."""
    signature = ctx.default_signature
    if signature.variables:
        given = [[_exact(ctx.api, x) for x in expressions] for expressions in ctx.args]
        signature = inferred(ctx.api, signature, given, AnyType(TypeOfAny.special_form))
    return changed(signature, arg_types=[writer.normalised(formal) for formal in signature.arg_types])


def _exact(api: CheckerPluginInterface, x: Expression) -> Type:
    """The type of an argument, a number as itself."""
    t = get_proper_type(api.get_expression_type(x))
    return t.last_known_value if isinstance(t, Instance) and t.last_known_value is not None else t
