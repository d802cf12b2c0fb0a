"""The type of a call of `split`: a tuple with an exact array for each part.

Knows: how many parts a call makes, if the program states it.
Refuses to know: how sizes are divided.
"""

from __future__ import annotations

from typing import Final

from mypy.plugin import Plugin
from mypy.types import Instance, TupleType, Type, get_proper_type

from wengert_mypy.arguments import several
from wengert_mypy.arrangement import split_at, split_equally
from wengert_mypy.calls import Call, Context
from wengert_mypy.dimensions import Unknown, dim_of
from wengert_mypy.names import SHAPE
from wengert_mypy.results import of_shape
from wengert_mypy.rules import Misfit, Shape

_MOST: Final = 64  # parts with a type each; a longer tuple is one of any length


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
