"""Dimensions and shapes between mypy's types and the plugin's algebra.

Knows: what stands for a dimension in a type (a literal, a class or NewType of int, a type variable, Add, Mul,
FloorDiv), and what shape an operand's type states.
Refuses to know: operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from mypy.nodes import TypeInfo
from mypy.plugin import Plugin
from mypy.types import (
    AnyType,
    FunctionLike,
    Instance,
    LiteralType,
    ProperType,
    TupleType,
    Type,
    TypeOfAny,
    TypeVarType,
    UnionType,
    UnpackType,
    get_proper_type,
)

from wengert_mypy.checker import as_base, mentions, opened
from wengert_mypy.names import (
    ADD,
    ARRAY_OPERAND,
    COMPUTED,
    FLOOR_DIV,
    INDICES,
    MASK,
    MUL,
    NDARRAY,
    NUMPY_SCALAR,
    SCALAR_OPERAND,
)
from wengert_shapes.algebra import Atom, Quotient, atom, floor_divide, number
from wengert_shapes.rules import Shape, Size

Named: TypeAlias = Callable[[str, list[Type]], Instance]


class Unknown(Exception):
    """Signal that a rule needs what is not known here; the answer of plain mypy stands."""


def dim_of(t: Type) -> Size:
    """The dimension that a type states; None for a plain int or Any."""
    t = get_proper_type(t)
    if isinstance(t, Instance) and t.last_known_value is not None:
        t = t.last_known_value
    if isinstance(t, LiteralType):
        return number(t.value) if type(t.value) is int else None
    if isinstance(t, TypeVarType):
        return atom(Atom(f"{t.name}:{t.id.namespace}:{t.id.raw_id}", t.name, t))
    if not isinstance(t, Instance) or t.type.fullname in ("builtins.int", "builtins.bool"):
        return None
    if t.type.fullname in COMPUTED and len(t.args) == 2:
        return computed(t.type.fullname, dim_of(t.args[0]), dim_of(t.args[1]))
    return atom(Atom(t.type.fullname, t.type.name, t)) if t.type.has_base("builtins.int") else None


def computed(name: str, a: Size, b: Size) -> Size:
    """The normal form of Add, Mul or FloorDiv of two dimensions."""
    if a is None or b is None:
        return None
    if name == FLOOR_DIV:
        return floor_divide(a, b)
    return a + b if name == ADD else a * b


def stated_dim(t: Type) -> Size:
    """Dimension of an argument, which may also be the class or NewType itself."""
    t = get_proper_type(t)
    if isinstance(t, FunctionLike) and t.is_type_obj():
        return dim_of(t.items[0].ret_type)
    return dim_of(t)


def integer(t: Type) -> int | None:
    """The number that a type states."""
    dim = dim_of(t)
    return None if dim is None else dim.value


def shape_in(t: Type, dim: Callable[[Type], Size] = dim_of) -> Shape:
    """The shape that a tuple type states."""
    t = get_proper_type(t)
    if not isinstance(t, TupleType) or any(isinstance(item, UnpackType) for item in t.items):
        raise Unknown
    return tuple(dim(item) for item in t.items)


def shape_of(t: Type) -> Shape:
    """The shape of an operand of this type; scalars of all kinds have ()."""
    t = get_proper_type(t)
    if isinstance(t, UnionType):
        shapes = {shape_of(item) for item in t.items}
        if len(shapes) > 1:
            raise Unknown
        return shapes.pop()
    if isinstance(t, TypeVarType):
        return shape_of(t.upper_bound)
    if isinstance(t, LiteralType):
        return ()
    if not isinstance(t, Instance):
        raise Unknown
    stated = _stated_shape(t)
    if stated is not None:
        return shape_in(stated)
    if is_number(t) or any(t.type.has_base(base) for base in (SCALAR_OPERAND, NUMPY_SCALAR)):
        return ()
    rank = rank_of_array(t)
    if rank is None:
        raise Unknown
    return rank


def shape_or_none(t: Type) -> Shape | None:
    """The shape of an operand of this type; None where it is not known."""
    try:
        return shape_of(t)
    except Unknown:
        return None


def shape_variable(t: Type) -> TypeVarType | None:
    """The type variable that stands for the whole shape of an operand."""
    t = get_proper_type(t)
    if isinstance(t, TypeVarType):
        return shape_variable(t.upper_bound)
    stated = get_proper_type(_stated_shape(t)) if isinstance(t, Instance) else None
    return stated if isinstance(stated, TypeVarType) else None


def with_stated_shape(formal: Type, t: Instance) -> Type:
    """A parameter that takes every shape, with the shape that values of type `t` have; others as they are."""
    shape = _stated_shape(t)
    return formal if shape is None or not _takes_every_shape(formal) else _of_shape(formal, shape)


def _takes_every_shape(formal: Type) -> bool:
    operands = mentions(formal, ARRAY_OPERAND, MASK)
    return any(isinstance(get_proper_type(operand.args[0]), AnyType) for operand in operands)


def _of_shape(formal: Type, shape: Type) -> Type:
    proper = get_proper_type(formal)
    if isinstance(proper, UnionType):
        return UnionType([_of_shape(item, shape) for item in proper.items])
    if isinstance(proper, Instance) and _takes_every_shape(proper):
        return Instance(proper.type, [shape, *proper.args[1:]])
    return formal


def _stated_shape(t: Instance) -> Type | None:
    """Type argument for the shape in the type of an array or a mask."""
    found = as_base(t, ARRAY_OPERAND) or as_base(t, MASK) or as_base(t, INDICES)
    return None if found is None else found.args[0]


def is_number(t: Type) -> bool:
    """Tell whether values of this type are Python numbers, which take part in no shape."""
    t = get_proper_type(t)
    if isinstance(t, LiteralType):
        t = t.fallback
    return isinstance(t, Instance) and any(
        t.type.has_base(base) for base in ("builtins.float", "builtins.int")
    )


def is_shapeless_array(t: Type) -> bool:
    """True if not even the number of axes of a numpy array is stated."""
    proper = get_proper_type(t)
    return isinstance(proper, Instance) and proper.type.has_base(NDARRAY) and rank_of_array(proper) is None


def rank_of_array(t: Type) -> Shape | None:
    """The shape of a numpy array as its type states it: at best how many axes there are."""
    t = get_proper_type(t)
    found = as_base(t, NDARRAY) if isinstance(t, Instance) else None
    try:
        return None if found is None else shape_in(found.args[0])
    except Unknown:
        return None


class Writer:
    """Types of dimensions, made with the names that mypy has loaded."""

    def __init__(self, plugin: Plugin, named: Named) -> None:
        self._plugin = plugin
        self._named = named

    def shape_type(self, shape: Shape) -> Type:
        """The tuple type of a shape."""
        fallback = self._named("builtins.tuple", [AnyType(TypeOfAny.special_form)])
        return TupleType([self.dim_type(n) for n in shape], fallback)

    def dim_type(self, dim: Size) -> Type:
        """The type of a dimension in normal form: terms of high degree first, the number last."""
        if dim is None:
            return AnyType(TypeOfAny.special_form)
        if dim.value is not None:
            return self._number(dim.value)
        return self._chain(ADD, [self._term(product, count) for product, count in dim.terms])

    def normalised(self, t: Type) -> Type:
        """A type with each Add, Mul and FloorDiv in it computed, or Any where it depends on an unknown."""
        known = opened(t)
        if isinstance(known, Instance) and known.type.fullname in COMPUTED:
            return self.dim_type(dim_of(known))
        if isinstance(known, Instance) and known.args:
            args = [self.normalised(a) for a in known.args]
            return Instance(known.type, args, extra_attrs=known.extra_attrs)
        if isinstance(known, TupleType):
            return known.copy_modified(items=[self.normalised(item) for item in known.items])
        if isinstance(known, UnionType):
            return UnionType([self.normalised(item) for item in known.items])
        return t

    def _term(self, product: Sequence[Atom | Quotient], count: int) -> Type:
        factors = [self._factor(f) for f in product]
        return self._chain(MUL, factors if count == 1 and factors else [self._number(count), *factors])

    def _factor(self, of: Atom | Quotient) -> Type:
        if isinstance(of, Quotient):
            return self._chain(FLOOR_DIV, [self.dim_type(of.numerator), self.dim_type(of.denominator)])
        assert isinstance(of.type, ProperType), "an atom is made of a type"
        return of.type

    def _chain(self, name: str, items: Sequence[Type]) -> Type:
        made, *rest = items
        for item in rest:
            made = self.computed(name, made, item)
        return made

    def computed(self, name: str, a: Type, b: Type) -> Type:
        """Add, Mul or FloorDiv of two types, as it stands."""
        # `named` knows only what the module in hand can reach, so the plugin's own look-up is asked
        found = self._plugin.lookup_fully_qualified(name)
        if found is None or not isinstance(found.node, TypeInfo):
            return AnyType(TypeOfAny.special_form)
        return Instance(found.node, [a, b])

    def _number(self, n: int) -> Type:
        return LiteralType(n, self._named("builtins.int", []))


def has_computed(t: Type | None) -> bool:
    """Tell whether a type mentions Add, Mul or FloorDiv where `normalised` finds them."""
    waiting: list[Type] = [] if t is None else [t]
    while waiting:
        next_type = opened(waiting.pop())
        if isinstance(next_type, Instance):
            if next_type.type.fullname in COMPUTED:
                return True
            waiting += next_type.args
        elif isinstance(next_type, TupleType | UnionType):
            waiting += next_type.items
    return False
