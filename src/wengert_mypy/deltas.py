"""Derivatives by a model: the type of each attribute of a `Deltas[Model]`.

Knows: that the answer has the model's structure, with the delta of each expression in its place.
Refuses to know: which expressions a loss reaches.
"""

from __future__ import annotations

from typing import Final

from mypy.plugin import AttributeContext
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    Overloaded,
    TupleType,
    Type,
    TypeOfAny,
    UnionType,
    get_proper_type,
)

from wengert_mypy.checker import member
from wengert_mypy.names import BUFFER, DELTAS, EXPRESSION

_KEPT: Final = frozenset({"builtins", "numpy", "enum", "wengert.plugins"})  # classes that hold no expression
_LISTED: Final = frozenset({"builtins.list", "builtins.tuple", "builtins.dict"})


def attribute(ctx: AttributeContext, name: str) -> Type:
    """The type of an attribute of the answer; mypy refuses one that the model lacks."""
    answer = get_proper_type(ctx.type)
    if not isinstance(answer, Instance) or answer.type.fullname != DELTAS:
        return ctx.default_attr_type
    return _answered(ctx, answer, member(ctx.api, answer.args[0], name, ctx.context))


def _answered(ctx: AttributeContext, answer: Instance, part: Type) -> Type:
    """What stands in the place of a part of the model."""
    found = get_proper_type(part)
    if isinstance(found, UnionType):
        return UnionType.make_union([_answered(ctx, answer, x) for x in found.items])
    if isinstance(found, TupleType):
        if found.partial_fallback.type.is_named_tuple:
            return Instance(answer.type, [found])
        return TupleType([_answered(ctx, answer, x) for x in found.items], found.partial_fallback)
    if not isinstance(found, Instance):
        return found
    if found.type.has_base(EXPRESSION):
        return found if found.type.has_base(BUFFER) else _delta(member(ctx.api, found, "_delta", ctx.context))
    if found.type.fullname in _LISTED:
        return Instance(found.type, [*found.args[:-1], _answered(ctx, answer, found.args[-1])])
    if found.type.fullname.startswith(tuple(f"{module}." for module in _KEPT)) or found.type.is_enum:
        return found
    if "dataclass" in found.type.metadata or found.type.get("__call__") is not None:
        return Instance(answer.type, [found])
    return AnyType(TypeOfAny.implementation_artifact)  # an object that may hold expressions


def _delta(method: Type) -> Type:
    """What a bound method gives."""
    found = get_proper_type(method)
    if isinstance(found, Overloaded):
        found = found.items[0]
    return found.ret_type if isinstance(found, CallableType) else AnyType(TypeOfAny.implementation_artifact)
