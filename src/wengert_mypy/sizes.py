"""Sizes that arguments give to the type variables of a function or class: literals stay, and no variable has two sizes.

Knows: that mypy makes `int` of a literal argument, and of two sizes for one variable, as shapes are covariant.
Refuses to know: operations of the library, whose rules say more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mypy.nodes import CallExpr, Context, MemberExpr, NameExpr
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    TupleType,
    Type,
    TypeOfAny,
    TypeVarId,
    TypeVarLikeType,
    TypeVarType,
    UnionType,
    get_proper_type,
)

from wengert_mypy.arithmetic import dim_at
from wengert_mypy.checker import as_base, changed, opened, replaced
from wengert_mypy.dimensions import Unknown, Writer, dim_of, shape_in
from wengert_mypy.names import SHAPE
from wengert_mypy.symbolic import SignatureContext
from wengert_shapes.rules import Shape, differ, size_text, text


def has_sizes(variables: Sequence[TypeVarLikeType]) -> bool:
    """Tell whether one of a function's type variables stands for a size or a shape."""
    return any(_is_size(v) or _is_shape(v) for v in variables)


def _is_size(v: Type) -> bool:
    return isinstance(v, TypeVarType) and _bound(v) == "builtins.int"


def _is_shape(v: Type) -> bool:
    return isinstance(v, TypeVarType) and _bound(v) == "builtins.tuple"


def _bound(v: TypeVarType) -> str:
    bound = get_proper_type(v.upper_bound)
    if isinstance(bound, TupleType):
        bound = bound.partial_fallback
    return bound.type.fullname if isinstance(bound, Instance) else ""


def sized(ctx: SignatureContext, writer: Writer) -> CallableType:
    """The signature with the sizes that integer arguments state; an error where two arguments give one variable two."""
    signature = ctx.default_signature
    met: dict[TypeVarId, tuple[str, list[Shape]]] = {}
    places: dict[int, Type] = {}  # integer parameters
    for i, given in enumerate(ctx.args):
        formal = get_proper_type(signature.arg_types[i])
        if len(given) != 1 or signature.arg_kinds[i].is_star():
            continue
        if isinstance(formal, TypeVarType) and _is_size(formal):
            places[i] = formal.upper_bound
            met.setdefault(formal.id, (formal.name, []))[1].append((dim_at(ctx.api, given[0]),))
        elif _mentions(formal):
            for variable, shape in _given(formal, ctx.api.get_expression_type(given[0])):
                met.setdefault(variable.id, (variable.name, []))[1].append(shape)
    integers = {get_proper_type(signature.arg_types[i]) for i in places}
    known: dict[TypeVarId, Type] = {}
    loose: dict[TypeVarId, Type] = {}  # of an argument of unknown size
    for v, (name, shapes) in met.items():
        twice = _refused(ctx, name, shapes)
        sizes = {shape[0] for shape in shapes if len(shape) == 1}
        if twice or None in sizes:
            loose[v] = AnyType(TypeOfAny.special_form)
        if v in loose or any(isinstance(t, TypeVarType) and t.id == v for t in integers):
            stated = None if twice else next((n for n in sizes if n is not None), None)
            known[v] = writer.dim_type(stated)
    if not known:
        return signature
    made = replaced(signature, known)
    formals = replaced(signature, {**known, **loose}).arg_types
    return changed(made, arg_types=[places.get(i, formal) for i, formal in enumerate(formals)])


def _refused(ctx: SignatureContext, name: str, shapes: Sequence[Shape]) -> bool:
    """Tell whether a variable would have two sizes or shapes, and say so."""
    for first in shapes:
        for other in shapes:
            if len(first) != len(other) or any(differ(n, m) for n, m in zip(first, other, strict=True)):
                one = len(first) == len(other) == 1
                both = [size_text(s[0]) if one else text(s) for s in (first, other)]
                why = f"{_called(ctx.context)}{name} is both {both[0]} and {both[1]}"
                ctx.api.fail(why, ctx.context, code=SHAPE)
                return True
    return False


def _called(where: Context) -> str:
    callee = where.callee if isinstance(where, CallExpr) else None
    return f"{callee.name}: " if isinstance(callee, NameExpr | MemberExpr) else ""


def _mentions(formal: Type) -> bool:
    waiting = [formal]
    while waiting:
        t = opened(waiting.pop())
        if t is None:
            continue
        if _is_size(t) or _is_shape(t):
            return True
        if isinstance(t, UnionType | TupleType):
            waiting += t.items
        elif isinstance(t, Instance):
            waiting += t.args
    return False


def _given(formal: Type, actual: Type) -> Iterator[tuple[TypeVarType, Shape]]:
    """Sizes and shapes that an argument's type gives to its parameter's variables; a size is a shape of one axis."""
    waiting = [(formal, actual)]
    while waiting:
        wanted, given = map(opened, waiting.pop())
        if wanted is None or given is None:
            continue
        if isinstance(wanted, TypeVarType):
            yield from _value(wanted, given)
        elif isinstance(wanted, UnionType):
            waiting += [(item, given) for item in wanted.items]
        elif isinstance(wanted, TupleType) and isinstance(given, TupleType):
            if len(wanted.items) == len(given.items):
                waiting += zip(wanted.items, given.items, strict=True)
        elif isinstance(wanted, Instance) and isinstance(given, Instance):
            base = as_base(given, wanted.type.fullname)
            if base is not None and len(base.args) == len(wanted.args):
                waiting += zip(wanted.args, base.args, strict=True)


def _value(wanted: TypeVarType, given: Type) -> Iterator[tuple[TypeVarType, Shape]]:
    if _is_size(wanted):
        yield wanted, (dim_of(given),)
    elif _is_shape(wanted):
        try:
            yield wanted, shape_in(given)
        except Unknown:
            return
