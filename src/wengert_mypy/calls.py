"""A call as the rules see it: shapes, numbers and axes of its arguments, and its result with another shape.

Knows: how mypy hands a call to a plugin, and that whatever is not a number in the program is unknown.
Refuses to know: which rule is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from mypy.nodes import (
    CallExpr,
    EllipsisExpr,
    Expression,
    ListExpr,
    MemberExpr,
    NameExpr,
    SliceExpr,
    StarExpr,
    TupleExpr,
)
from mypy.plugin import FunctionContext, MethodContext, Plugin
from mypy.types import (
    AnyType,
    Instance,
    LiteralType,
    NoneType,
    TupleType,
    Type,
    TypeOfAny,
    TypeVarType,
    get_proper_type,
)

from wengert_mypy.arithmetic import dim_at
from wengert_mypy.checker import outright
from wengert_mypy.dimensions import (
    Unknown,
    Writer,
    dim_of,
    integer,
    is_number,
    rank_of_array,
    shape_in,
    shape_of,
    shape_variable,
)
from wengert_mypy.index import At, Cut, Gather, New, Part, Rest
from wengert_mypy.names import ARRAY_OPERAND, MASK, NUMPY_SCALAR, SHAPE
from wengert_mypy.rules import Misfit, Shape, broadcast

Context: TypeAlias = FunctionContext | MethodContext
Rule: TypeAlias = Callable[["Call"], Shape | TypeVarType]  # the variable where a whole shape is one


class Call:
    """One call of an operation; positions and names are those of the operation's parameters."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def position(self, of: int | str) -> int:
        """Where a parameter is; Unknown if this signature has none of that name."""
        if isinstance(of, str) and of not in self.ctx.callee_arg_names:
            raise Unknown
        return of if isinstance(of, int) else self.ctx.callee_arg_names.index(of)

    def type(self, of: int | str) -> Type | None:
        """The type of an argument; None where the default stands."""
        given = self.ctx.arg_types[self.position(of)]
        if len(given) > 1:
            raise Unknown
        return given[0] if given else None

    def expression(self, of: int | str) -> Expression:
        """An argument as it is written."""
        given = self.ctx.args[self.position(of)]
        if len(given) != 1:
            raise Unknown
        return given[0]

    def shape(self, of: int | str) -> Shape:
        """The shape of an operand."""
        t = self.type(of)
        if t is None:
            raise Unknown
        return shape_of(t)

    def shape_or(self, of: int | str, otherwise: Shape) -> Shape:
        """The shape of an operand; one of unknown rank is taken for `otherwise`, which fits whatever is asked."""
        try:
            return self.shape(of)
        except Unknown:
            return otherwise

    def receiver(self) -> Shape:
        """The shape of the object whose method is called."""
        return shape_of(self._owner())

    def joint(self, *operands: int | None) -> Shape | TypeVarType:
        """The shape that the operands broadcast to; None stands for the receiver."""
        given = [self._owner() if of is None else self.type(of) for of in operands]
        types = [t for t in given if t is not None and not _shapeless(t)]
        try:
            return broadcast(*map(shape_of, types))
        except Unknown:
            variables = {v for t in types if (v := shape_variable(t)) is not None}
            # of a shape variable nothing is known but that it is the same wherever it stands
            if len(variables) != 1 or any(shape_variable(t) is None and shape_of(t) for t in types):
                raise
            return variables.pop()

    def _owner(self) -> Type:
        assert isinstance(self.ctx, MethodContext), "a function has no receiver"
        return self.ctx.type

    def dims(self, of: int | str) -> Shape:
        """A shape that is given as a tuple, or as one number."""
        t = self.type(of)
        if t is None:
            raise Unknown
        known, written = get_proper_type(t), self.expression(of)
        if not isinstance(known, TupleType):
            return (dim_at(self.ctx.api, written, _int(t)),)
        if not isinstance(written, TupleExpr) or len(written.items) != len(known.items):
            return shape_in(t)
        return tuple(dim_at(self.ctx.api, *pair) for pair in zip(written.items, known.items, strict=True))

    def pair(self, of: int | str, default: Shape) -> Shape:
        """Two numbers, or one that stands for both."""
        t = self.type(of)
        if t is None or isinstance(get_proper_type(t), NoneType):
            return default
        sizes = self.dims(of)
        if len(sizes) > 2:
            raise Unknown
        return sizes if len(sizes) == 2 else (*sizes, *sizes)

    def pairs(self, of: int | str) -> list[Shape]:
        """A tuple of tuples of two numbers."""
        t = self.type(of)
        known = None if t is None else get_proper_type(t)
        if not isinstance(known, TupleType):
            raise Unknown
        found = [shape_in(item) for item in known.items]
        if any(len(sizes) != 2 for sizes in found):
            raise Unknown
        return found

    def axis(self, of: int | str, default: int) -> int:
        """One axis."""
        t = self.type(of)
        return default if t is None else _axis(t)

    def axes(self, of: int | str) -> Sequence[int] | None:
        """Axes given as a number or a tuple; None stands for all."""
        t = self.type(of)
        if t is None or isinstance(get_proper_type(t), NoneType):
            return None
        tuple_type = get_proper_type(t)
        return [_axis(item) for item in (tuple_type.items if isinstance(tuple_type, TupleType) else [t])]

    def flag(self, of: int | str) -> bool:
        """A boolean argument that is False by default."""
        t = self.type(of)
        if t is None:
            return False
        value = _literal(t)
        if not isinstance(value, bool):
            raise Unknown
        return value

    def word(self, of: int | str, default: str) -> str:
        """A string argument."""
        t = self.type(of)
        if t is None:
            return default
        value = _literal(t)
        if not isinstance(value, str):
            raise Unknown
        return value

    def sequence(self, of: int | str) -> list[Shape]:
        """The shapes of the operands in a list or tuple."""
        t = self.type(of)
        known = None if t is None else get_proper_type(t)
        if isinstance(known, TupleType):
            return [shape_of(item) for item in known.items]
        written = self.expression(of)
        if not isinstance(written, ListExpr | TupleExpr) or any(
            isinstance(x, StarExpr) for x in written.items
        ):
            raise Unknown
        return [shape_of(self.ctx.api.get_expression_type(x)) for x in written.items]

    def array(self, of: int | str) -> Shape | None:
        """What is known of an array of integers."""
        return self._gathered(self.expression(of)).shape

    def key(self, of: int | str) -> list[Part]:
        """The parts of an index."""
        written = self.expression(of)
        return [self._part(x) for x in (written.items if isinstance(written, TupleExpr) else [written])]

    def _part(self, x: Expression) -> Part:
        if isinstance(x, SliceExpr):
            return Cut(self._bounds(x))
        if isinstance(x, EllipsisExpr):
            return Rest()
        if isinstance(x, NameExpr) and x.fullname == "builtins.None":
            return New()
        t = get_proper_type(self.ctx.api.get_expression_type(x))
        if isinstance(t, LiteralType) or (isinstance(t, Instance) and t.type.has_base("builtins.int")):
            return At(integer(t))
        if isinstance(t, Instance) and (isinstance(x, ListExpr) or t.type.has_base("numpy.ndarray")):
            return self._gathered(x)
        raise Unknown  # a tuple or a slice in a variable, Any

    def _gathered(self, x: Expression) -> Gather:
        if isinstance(x, ListExpr) and not any(isinstance(item, StarExpr | ListExpr) for item in x.items):
            return Gather(
                (dim_of(LiteralType(len(x.items), self.ctx.api.named_generic_type("builtins.int", []))),)
            )
        t = self.ctx.api.get_expression_type(x)
        proper = get_proper_type(t)
        if is_number(t) or (isinstance(proper, Instance) and proper.type.has_base(NUMPY_SCALAR)):
            return Gather(())
        return Gather(rank_of_array(t))

    def _bounds(self, x: SliceExpr) -> slice | None:
        found: list[int | None] = []
        for bound in (x.begin_index, x.end_index, x.stride):
            if bound is None or (isinstance(bound, NameExpr) and bound.fullname == "builtins.None"):
                found.append(None)
                continue
            value = integer(self.ctx.api.get_expression_type(bound))
            if value is None:
                return None
            found.append(value)
        return slice(*found)


def _shapeless(t: Type) -> bool:
    """Whether values of this type take part in no shape: Python numbers, and None for an operand left out."""
    return is_number(t) or isinstance(get_proper_type(t), NoneType)


def _literal(t: Type) -> object:
    t = get_proper_type(t)
    if isinstance(t, Instance):
        t = t.last_known_value or t
    return t.value if isinstance(t, LiteralType) else None


def _int(t: Type) -> Type:
    proper = get_proper_type(t)
    if isinstance(proper, LiteralType | TypeVarType) or (
        isinstance(proper, Instance) and proper.type.has_base("builtins.int")
    ):
        return t
    raise Unknown


def _axis(t: Type) -> int:
    value = integer(t)
    if value is None:
        raise Unknown
    return value


def called(ctx: Context, default: str) -> str:
    """The name of the operation that is called, as the user's line has it."""
    callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
    return callee.name if isinstance(callee, NameExpr | MemberExpr) else default


def sharpened(plugin: Plugin, ctx: Context, name: str, rule: Rule) -> Type:
    """The type of the result with the shape that the rule gives, or an error where shapes do not fit."""
    try:
        return with_shape(plugin, ctx, rule(Call(ctx)))
    except Misfit as error:
        with outright(ctx.api, ctx.context):
            ctx.api.fail(f"{name}: {error}", ctx.context, code=SHAPE)
        return with_shape(plugin, ctx, None)
    except Unknown:
        return ctx.default_return_type


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
    if not (result.type.has_base(ARRAY_OPERAND) or result.type.has_base(MASK)):
        return t
    return Instance(result.type, [made, *result.args[1:]])
