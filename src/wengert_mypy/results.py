"""The result of a call, with the shape that a rule gives it.

Knows: that of several arrays in a tuple each has the shape, that what is no array stays as it is, and that shapes
that do not fit are an error of the user's line; how many parts a call of `split` makes, if the program states it; and
what has results of unlike shapes.
Refuses to know: which rule is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Final

from mypy.nodes import ARG_POS, CallExpr, MemberExpr, NameExpr
from mypy.plugin import Plugin
from mypy.typeops import make_simplified_union
from mypy.types import (
    AnyType,
    Instance,
    LiteralType,
    TupleType,
    Type,
    TypeOfAny,
    TypeVarType,
    UnionType,
    get_proper_type,
)

from wengert_mypy.arguments import several
from wengert_mypy.calls import Call, Context, Rule, shape_as_written
from wengert_mypy.checker import outright
from wengert_mypy.dimensions import Unknown, Writer, dim_of, is_number
from wengert_mypy.names import ARRAY_OPERAND, INDICES, MASK, SHAPE
from wengert_shapes.arrangement import eigenvalues, singular_values, split_at, split_equally, square, vector
from wengert_shapes.rules import Misfit, Shape

_MOST: Final = 64  # parts with a type each, a longer tuple is one of any length; or items of unions together


def called(ctx: Context, default: str) -> str:
    """The name of the operation that is called, as the user's line has it."""
    callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
    return callee.name if isinstance(callee, NameExpr | MemberExpr) else default


def sharpened(plugin: Plugin, ctx: Context, name: str, rule: Rule) -> Type:
    """The type of the result with the shape that the rule gives, or an error where shapes do not fit."""
    try:
        unions = _unions(ctx)
        if not unions:
            return with_shape(plugin, ctx, rule(Call(ctx)))
        shapes = {rule(Call(ctx, instead)) for instead in _alternatives(unions)}
    except Misfit as error:
        with outright(ctx.api, ctx.context):
            ctx.api.fail(f"{name}: {error}", ctx.context, code=SHAPE)
        return _of_shape(AnyType(TypeOfAny.from_error), ctx.default_return_type)
    except Unknown:
        return ctx.default_return_type
    return make_simplified_union([with_shape(plugin, ctx, shape) for shape in shapes])


def _unions(ctx: Context) -> dict[int, list[Type]]:
    """The items of each argument of which the type is a union of arrays."""
    unions: dict[int, list[Type]] = {}
    for i, given in enumerate(ctx.arg_types):
        t = get_proper_type(given[0]) if len(given) == 1 else None
        if isinstance(t, UnionType):
            # a number is the start of `sum(layers)`
            arrays = [item for item in t.items if not is_number(item)]
            unions[i] = arrays or t.items[:1]
    return unions


def _alternatives(unions: Mapping[int, Sequence[Type]]) -> Iterator[dict[int, Type]]:
    """An item for each argument, in every combination; of many mypy's answer stands."""
    if prod(map(len, unions.values())) > _MOST:
        raise Unknown
    return (dict(zip(unions, items, strict=True)) for items in product(*unions.values()))


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
    if result.type.fullname == "builtins.tuple":  # of any length
        return Instance(result.type, [_of_shape(made, item) for item in result.args])
    if not any(map(result.type.has_base, (ARRAY_OPERAND, MASK, INDICES))):
        return t
    return Instance(result.type, [made, *result.args[1:]])


def split(plugin: Plugin, ctx: Context) -> Type:
    """The answer to mypy."""
    parts = get_proper_type(ctx.default_return_type)
    if not isinstance(parts, Instance) or len(parts.args) != 1:
        return parts
    try:
        shapes, known = _shapes(Call(ctx))
    except Misfit as error:
        ctx.api.fail(f"split: {error}", ctx.context, code=SHAPE)
        return parts
    except Unknown:
        return parts
    (part,) = parts.args
    items = [of_shape(plugin, ctx, shape, part) for shape in shapes]
    return TupleType(items, parts) if known else Instance(parts.type, items)


def _shapes(call: Call) -> tuple[list[Shape | None], bool]:
    """The shapes of all parts; or that of any one of them, and False."""
    cuts = several(call, 1)
    if cuts is not None:
        whole = _whole(call)
        return (list(split_at(whole[0], cuts, whole[1])) if whole else [None] * (len(cuts) + 1)), True
    given = call.type(1)
    sections = None if given is None else dim_of(given)
    whole = _whole(call)
    part = None if whole is None else split_equally(whole[0], sections, whole[1])
    count = None if sections is None else sections.value
    if count is None or not 0 < count <= _MOST:
        return [part], False
    return [part] * count, True


def _whole(call: Call) -> tuple[Shape, int] | None:
    """The shape and the axis that are cut."""
    try:
        return call.shape(0), call.axis("axis", 0)
    except Unknown:
        return None


def _qr(call: Call) -> list[Shape]:
    shape = call.shape(0)
    least = singular_values(shape)[-1]
    return [(*shape[:-1], least), (*shape[:-2], least, shape[-1])]


def _svd(call: Call) -> list[Shape]:
    u, vh = _qr(call)
    return [u, singular_values(call.shape(0)), vh]


def _eigh(call: Call) -> list[Shape]:
    return [eigenvalues(call.shape(0)), square(call.shape(0))]


def _meshgrid(call: Call) -> list[Shape]:
    """A grid of all the vectors; the first two change places unless `indexing` is "ij"."""
    if any(kind != ARG_POS for kind in call.ctx.arg_kinds[0]):
        raise Unknown
    vectors = zip(call.ctx.args[0], call.ctx.arg_types[0], strict=True)
    sizes = [vector(shape_as_written(call.ctx.api, x, t))[0] for x, t in vectors]
    given = call.type("indexing")
    how = None if given is None else get_proper_type(given)
    how = how.last_known_value if isinstance(how, Instance) else how
    if given is not None and not isinstance(how, LiteralType):
        raise Unknown
    if not isinstance(how, LiteralType) or how.value != "ij":
        sizes[:2] = sizes[:2][::-1]
    return [tuple(sizes)] * len(sizes)


# functions of which each result has a shape of its own
PARTS: Final[Mapping[str, Callable[[Call], list[Shape]]]] = {
    "wengert.ops.factorization.eigh": _eigh,
    "wengert.ops.factorization.qr": _qr,
    "wengert.ops.factorization.svd": _svd,
    "wengert.ops.manipulation.meshgrid": _meshgrid,
}


def parts(plugin: Plugin, ctx: Context, name: str) -> Type:
    """The results of such a function; a field of a named tuple keeps its declared type, an item has its shape."""
    made = get_proper_type(ctx.default_return_type)
    try:
        shapes = PARTS[name](Call(ctx))
    except Misfit as error:
        ctx.api.fail(f"{name.rpartition('.')[2]}: {error}", ctx.context, code=SHAPE)
        return made
    except Unknown:
        return made
    if isinstance(made, TupleType):
        items = zip(shapes, made.items, strict=True)
        return made.copy_modified(items=[of_shape(plugin, ctx, shape, t) for shape, t in items])
    if not isinstance(made, Instance) or len(made.args) != 1:
        return made
    return TupleType([of_shape(plugin, ctx, shape, made.args[0]) for shape in shapes], made)
