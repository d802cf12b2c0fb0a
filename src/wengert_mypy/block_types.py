"""Types of blocks and of what they read, in the words of the run; the arguments that the type of a block carries.

Knows: which types are tensors, integers, lists, data or nothing, and how the run calls them; the names under which the
type of a block keeps what made it.
Refuses to know: any single block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mypy.nodes import ARG_POS
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    LiteralType,
    NoneType,
    Overloaded,
    TupleType,
    Type,
    TypeVarType,
    UnionType,
    get_proper_type,
)

from wengert_mypy.checker import as_base
from wengert_mypy.dimensions import Unknown, dim_of, shape_in
from wengert_mypy.names import ARRAY_OPERAND, FOLD, INDICES, INTEGER_ARRAY
from wengert_shapes.rules import Shape, Size, text

BLOCK: Final = f"{FOLD}block.Block"
ENDLESS: Final = "itertools.repeat"
_KEPT: Final = "td:"  # before the names of arguments: no attribute of a program is called so
_DTYPES: Final = {"_32Bit": "float32", "_64Bit": "float64", "_16Bit": "float16", "float64": "float64"}


def held(block: Instance, name: str) -> Type | None:
    """An argument that made a block."""
    found = block.extra_attrs.attrs.get(_KEPT + name) if block.extra_attrs else None
    return None if found is None else get_proper_type(found)


def holding(block: Instance, parts: Mapping[str, Type | None]) -> Instance:
    """The type of a block with arguments that made it."""
    for name, t in parts.items():
        if t is not None:
            block = block.copy_with_extra_attr(_KEPT + name, t)
    return block


def word(t: Type | None) -> str | None:
    """The text of a literal type."""
    return t.value if isinstance(t, LiteralType) and isinstance(t.value, str) else None


def number(t: Type | None) -> int | None:
    """The number that a literal type says."""
    return t.value if isinstance(t, LiteralType) and type(t.value) is int else None


def size(t: Type | None) -> Size:
    """The size that an argument states."""
    return None if t is None else dim_of(t)


def tensor(t: Type) -> Instance | None:
    """The type of an array expression as its base class."""
    proper = get_proper_type(t)
    return as_base(proper, ARRAY_OPERAND) if isinstance(proper, Instance) else None


def get_integers(t: Type) -> bool:
    """True if a type is that of an array of integers."""
    proper = get_proper_type(t)
    return isinstance(proper, Instance) and (
        proper.type.fullname == INTEGER_ARRAY or proper.type.has_base(INDICES)
    )


def has_tensors(t: Type) -> bool:
    """True if a type has tensors in it alone; recursive over a type, which a person has written."""
    proper = get_proper_type(t)
    if isinstance(proper, TupleType):
        return all(map(has_tensors, proper.items))
    return tensor(proper) is not None or get_integers(proper)


def unsure(t: Type) -> bool:
    """True if nothing is known of a type that could be compared."""
    proper = get_proper_type(t)
    return isinstance(proper, AnyType | TypeVarType | UnionType)


def shape(t: Type) -> Shape | None:
    """The shape of a tensor, None where it is not known."""
    base = tensor(t)
    try:
        return None if base is None else shape_in(base.args[0])
    except Unknown:
        return None


def kind(t: Type) -> str:
    """Kind of a type to blocks, as the run says it."""
    proper = get_proper_type(t)
    if isinstance(proper, NoneType):
        return "nothing"
    if tensor(proper) is not None:
        return "tensor"
    if get_integers(proper):
        return "integers"
    if isinstance(proper, TupleType):
        return "tuple"
    if isinstance(proper, Instance) and proper.type.fullname == "builtins.list":
        return "list"
    if isinstance(proper, Instance) and proper.type.fullname == ENDLESS:
        return "endless"
    return "object"


def is_data(x: Type) -> bool:
    """True if a list has data in it."""
    proper = get_proper_type(x)
    if isinstance(proper, Instance) and kind(proper) in ("list", "endless"):
        return is_data(proper.args[0])
    if isinstance(proper, TupleType):
        return all(map(is_data, proper.items))
    return kind(proper) == "object"


def shown(t: Type) -> str:
    """A type in the words of the run."""
    proper = get_proper_type(t)
    if unsure(proper):
        return "?"
    base = tensor(proper)
    if base is not None:
        known = shape(base)
        element = get_proper_type(base.args[1])
        inner = (
            get_proper_type(element.args[0]) if isinstance(element, Instance) and element.args else element
        )
        name = inner.type.name if isinstance(inner, Instance) else ""
        return f"{_DTYPES.get(name, 'float')} {'(...)' if known is None else text(known)}"
    if isinstance(proper, TupleType):
        inside = ", ".join(map(shown, proper.items))
        return f"({inside},)" if len(proper.items) == 1 else f"({inside})"
    if isinstance(proper, Instance) and kind(proper) in ("list", "endless"):
        return f"{'list of' if kind(proper) == 'list' else 'endless'} {shown(proper.args[0])}"
    return kind(proper)


def terminals(x: Type) -> list[Type]:
    """The parts of nested tuples."""
    proper = get_proper_type(x)
    return (
        [t for item in proper.items for t in terminals(item)] if isinstance(proper, TupleType) else [proper]
    )


def arity(function: Type) -> int | None:
    """How many arguments a function takes by place, None where they may be several numbers."""
    callee = get_proper_type(function)
    if isinstance(callee, Instance):
        method = callee.type.get("__call__")
        found = None if method is None or method.type is None else get_proper_type(method.type)
        counts = (
            {arity(item) for item in found.items}
            if isinstance(found, Overloaded)
            else {arity(found)}
            if found
            else set()
        )
        return None if len(counts) != 1 or None in counts else (counts.pop() or 1) - 1
    if isinstance(callee, Overloaded):
        several = {arity(item) for item in callee.items}
        return several.pop() if len(several) == 1 else None
    if not isinstance(callee, CallableType) or callee.is_var_arg or callee.is_kw_arg:
        return None
    return sum(k == ARG_POS for k in callee.arg_kinds)


def described(block: Type) -> str:
    """A block as messages name it."""
    b = get_proper_type(block)
    if not isinstance(b, Instance):
        return "a block"
    chain = held(b, "chain")
    return described(chain.items[-1]) if isinstance(chain, TupleType) else f"<td.{b.type.name}>"


def reads_nothing(block: Type) -> bool:
    """True if a block is a constant, which may stand wherever anything is read."""
    b = get_proper_type(block)
    return isinstance(b, Instance) and b.type.name in ("FromTensor", "Zeros")
