"""An index as it is written, part by part.

Knows: which expressions of mypy are slices, new axes, integers and arrays of integers.
Refuses to know: what shape an index gives.
"""

from __future__ import annotations

from mypy.nodes import EllipsisExpr, Expression, ListExpr, NameExpr, SliceExpr, StarExpr
from mypy.plugin import CheckerPluginInterface
from mypy.types import Instance, LiteralType, get_proper_type

from wengert_mypy.dimensions import Unknown, dim_of, integer, is_number, rank_of_array
from wengert_mypy.index import At, Cut, Gather, New, Part, Rest
from wengert_mypy.names import NUMPY_SCALAR


def part(api: CheckerPluginInterface, x: Expression) -> Part:
    """Selection by one part of an index."""
    if isinstance(x, SliceExpr):
        return Cut(_bounds(api, x))
    if isinstance(x, EllipsisExpr):
        return Rest()
    if isinstance(x, NameExpr) and x.fullname == "builtins.None":
        return New()
    t = get_proper_type(api.get_expression_type(x))
    if isinstance(t, LiteralType) or (isinstance(t, Instance) and t.type.has_base("builtins.int")):
        return At(integer(t))
    if isinstance(t, Instance) and (isinstance(x, ListExpr) or t.type.has_base("numpy.ndarray")):
        return gathered(api, x)
    raise Unknown  # a tuple or a slice in a variable, Any


def gathered(api: CheckerPluginInterface, x: Expression) -> Gather:
    """Selection by an array of integers, as far as it is known."""
    if isinstance(x, ListExpr) and not any(isinstance(item, StarExpr | ListExpr) for item in x.items):
        return Gather((dim_of(LiteralType(len(x.items), api.named_generic_type("builtins.int", []))),))
    t = api.get_expression_type(x)
    proper = get_proper_type(t)
    if is_number(t) or (isinstance(proper, Instance) and proper.type.has_base(NUMPY_SCALAR)):
        return Gather(())
    return Gather(rank_of_array(t))


def _bounds(api: CheckerPluginInterface, x: SliceExpr) -> slice | None:
    found: list[int | None] = []
    for bound in (x.begin_index, x.end_index, x.stride):
        if bound is None or (isinstance(bound, NameExpr) and bound.fullname == "builtins.None"):
            found.append(None)
            continue
        value = integer(api.get_expression_type(bound))
        if value is None:
            return None
        found.append(value)
    return slice(*found)
