"""Element types and devices of operands that meet in one call, refused in the words of the run time.

Knows: what the types of operands and of parameters state of both, and that neither is converted silently.
Refuses to know: shapes, registrations, and which operation asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from mypy.nodes import CallExpr, Context, IndexExpr, MemberExpr, NameExpr, OpExpr
from mypy.plugin import MethodContext
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    LiteralType,
    Type,
    TypeOfAny,
    TypeVarId,
    TypeVarType,
    get_proper_type,
)

from wengert_mypy.checker import accepts, as_base, mentioned, mentions
from wengert_mypy.names import (
    ARRAY_LITERAL,
    ARRAY_OPERAND,
    CUPY_ARRAY,
    CUPY_DEVICE,
    DEVICE,
    DIFFERENTIABLE,
    DTYPE,
    EXPRESSION,
    MASK,
    NDARRAY,
    NUMPY_FLOATING,
    SCALAR_OPERAND,
)
from wengert_mypy.refusals import Refusal, dtype_name, element_type, wrong_elements

_STATING: Final = (ARRAY_OPERAND, ARRAY_LITERAL, SCALAR_OPERAND, MASK, DIFFERENTIABLE)

Trait: TypeAlias = str | TypeVarId | None  # its name, the variable that stands for it, or not stated

_OPERATIONS: Final[Mapping[str, str]] = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "**": "pow",
    "%": "remainder",
    "@": "matmul",
}


@dataclass(frozen=True, slots=True)
class Traits:
    """Element type and device that a type states."""

    dtype: Trait = None
    device: Trait = None


def traits_of(t: Instance) -> Traits:
    """Traits of an operand; a Python number has none."""
    operand = as_base(t, ARRAY_OPERAND) or as_base(t, SCALAR_OPERAND) or as_base(t, MASK)
    if operand is not None:
        return _of_class(operand)
    array = as_base(t, NDARRAY)
    if array is not None:
        return Traits(_dtype(element_type(array)), "cpu")
    array = as_base(t, CUPY_ARRAY)
    return Traits() if array is None else Traits(_dtype(element_type(array)), "gpu")


def _of_class(t: Instance) -> Traits:
    """Traits that the parameters of one of the library's own classes state."""
    if t.type.fullname == ARRAY_OPERAND:
        return Traits(_dtype(t.args[1]), _device(t.args[2]))
    if t.type.fullname == ARRAY_LITERAL:
        return Traits(_dtype(t.args[0]), _device(t.args[1]))
    if t.type.fullname == MASK:
        return Traits(None, _device(t.args[1]))
    data = get_proper_type(t.args[0])
    double = isinstance(data, Instance) and data.type.fullname == "builtins.float"
    return Traits("float64" if double else _dtype(data))


def wanted(formal: Type) -> Traits:
    """Traits of the operands that a parameter takes; where it takes several, none is stated."""
    found = [_of_class(t) for t in mentions(formal, *_STATING)]
    dtypes = {traits.dtype for traits in found} - {None}
    devices = {traits.device for traits in found} - {None}
    return Traits(*(next(iter(s)) if len(s) == 1 else None for s in (dtypes, devices)))


def _dtype(element: Type | None) -> Trait:
    t = None if element is None else get_proper_type(element)
    if isinstance(t, TypeVarType):
        return t.id
    if not isinstance(t, Instance) or not t.type.has_base(NUMPY_FLOATING):
        return None
    name = dtype_name(t)
    return name if name != "?" else None


def _device(t: Type) -> Trait:
    t = get_proper_type(t)
    if isinstance(t, TypeVarType):
        return t.id
    if isinstance(t, LiteralType) and isinstance(t.value, str):
        return t.value
    return "gpu" if isinstance(t, Instance) and t.type.fullname == CUPY_DEVICE else None


def agree(operands: Sequence[Instance]) -> bool:
    """Tell whether no two of these state different element types or devices."""
    if len(operands) < 2:
        return True
    arrays = [array for t in operands if (array := as_base(t, ARRAY_OPERAND)) is not None]
    if len(arrays) == len(operands) and all(t.args[1:] == arrays[0].args[1:] for t in arrays):
        return True  # as in most calls
    found = [traits_of(t) for t in operands]
    return all(
        len({*stated} - {None}) < 2 for stated in ([t.dtype for t in found], [t.device for t in found])
    )


Mix: TypeAlias = tuple[int, Refusal]  # the argument that does not go with those before it, and why


def mixed(
    signature: CallableType,
    overloads: Callable[[], Iterable[CallableType]],
    given: Mapping[int, Instance],
    where: Context,
    reflected: bool,
) -> Mix | None:
    """Reason why no overload takes these operands together; None where one does, or for another reason.

    `signature` is the one in hand: where it fits, the others are not looked at, and most calls fit.
    """
    known = {i: traits for i, t in given.items() if (traits := traits_of(t)) != Traits()}
    if _clash(signature, known, where, reflected) is None:
        return None
    meant = [item for item in overloads() if all(_would_take(item, i, given[i]) for i in known)]
    clashes = [_clash(item, known, where, reflected) for item in meant]
    return clashes[0] if clashes and None not in clashes else None


def _would_take(item: CallableType, position: int, t: Instance) -> bool:
    """Tell whether a parameter would take an operand like this one of some element type on some device."""
    if position >= len(item.arg_types):
        return False
    formal = item.arg_types[position]
    anything = AnyType(TypeOfAny.special_form)
    if t.type.has_base(NDARRAY) or t.type.has_base(CUPY_ARRAY):
        return mentioned(formal, ARRAY_LITERAL) is not None
    for name, stated in ((ARRAY_OPERAND, 1), (MASK, 1), (SCALAR_OPERAND, 0)):
        base = as_base(t, name)
        if base is not None:
            kept = [*base.args[:stated], *(anything for _ in base.args[stated:])]
            return accepts(formal, Instance(base.type, kept))
    return accepts(formal, t)


def _clash(item: CallableType, given: Mapping[int, Traits], where: Context, reflected: bool) -> Mix | None:
    met: dict[TypeVarId, str] = {}
    for i, has in given.items():
        if i >= len(item.arg_types):
            continue
        wants = wanted(item.arg_types[i])
        for what, mine, other in (("dtypes", has.dtype, wants.dtype), ("devices", has.device, wants.device)):
            if not isinstance(mine, str) or other is None:
                continue
            before = met.setdefault(other, mine) if isinstance(other, TypeVarId) else other
            if before != mine:
                sides = (mine, before) if reflected else (before, mine)
                return i, _refusal(what, *sides, where)
    return None


def _refusal(what: str, a: str, b: str, where: Context) -> Refusal:
    why = f"{named(where)}{what} {a} and {b} do not mix; "
    if what == "devices":
        return Refusal(f"{why}copy one operand to the other device first", DEVICE)
    return Refusal(f"{why}make them one, as in x.astype(numpy.float32)", DTYPE)


def named(where: Context) -> str:
    """The name of the operation on the user's line, before a message."""
    if isinstance(where, OpExpr):
        return f"{_OPERATIONS[where.op]}: " if where.op in _OPERATIONS else ""
    if isinstance(where, IndexExpr):
        return "getitem: "
    callee = where.callee if isinstance(where, CallExpr) else None
    return f"{callee.name}: " if isinstance(callee, NameExpr | MemberExpr) else ""


def checked_array(ctx: MethodContext) -> Type:
    """numpy's operators take every operand where an array's element type is unknown or `object`."""
    array = as_base(ctx.type, NDARRAY) if isinstance(ctx.type, Instance) else None
    others = [get_proper_type(t) for given in ctx.arg_types for t in given]
    if array is None or not any(isinstance(t, Instance) and t.type.has_base(EXPRESSION) for t in others):
        return ctx.default_return_type
    refusal = wrong_elements(array, ctx.api.options)
    if refusal is not None:
        ctx.api.fail(refusal.text, ctx.context, code=refusal.code)
        return AnyType(TypeOfAny.from_error)
    return ctx.default_return_type
