"""A call as the rules see it: shapes, numbers and axes of its arguments.

Knows: how mypy hands a call to a plugin, and that whatever is not a number in the program is unknown.
Refuses to know: which rule is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from mypy.nodes import (
    CallExpr,
    EllipsisExpr,
    Expression,
    ListExpr,
    NameExpr,
    RefExpr,
    SliceExpr,
    StarExpr,
    TupleExpr,
)
from mypy.plugin import CheckerPluginInterface, FunctionContext, MethodContext
from mypy.types import Instance, LiteralType, NoneType, TupleType, Type, TypeVarType, get_proper_type

from wengert_mypy.arithmetic import dim_at
from wengert_mypy.dimensions import (
    Unknown,
    dim_of,
    integer,
    is_number,
    is_shapeless_array,
    rank_of_array,
    shape_in,
    shape_of,
    shape_or_none,
    shape_variable,
)
from wengert_mypy.names import INDICES, NUMPY_SCALAR
from wengert_shapes.index import At, Cut, Gather, New, Part, Rest
from wengert_shapes.rules import Shape, broadcast

Context: TypeAlias = FunctionContext | MethodContext
Rule: TypeAlias = Callable[["Call"], Shape | TypeVarType]  # the variable where a whole shape is one


class Call:
    """One call of an operation; positions and names are those of the operation's parameters."""

    def __init__(self, ctx: Context, instead: Mapping[int, Type] | None = None) -> None:
        self.ctx = ctx
        self._instead = instead or {}  # one item each of arguments whose types are unions

    def position(self, of: int | str) -> int:
        """Index of a parameter; Unknown if this signature has none of that name."""
        if isinstance(of, str) and of not in self.ctx.callee_arg_names:
            raise Unknown
        return of if isinstance(of, int) else self.ctx.callee_arg_names.index(of)

    def type(self, of: int | str) -> Type | None:
        """The type of an argument; None where the default stands."""
        position = self.position(of)
        given = self.ctx.arg_types[position]
        if len(given) > 1:
            raise Unknown
        if not given:
            return None
        if isinstance(self.ctx.args[position][0], CallExpr) and is_shapeless_array(given[0]):
            # on its own, because what the operation takes, arrays of every shape, would be its shape
            return self.ctx.api.get_expression_type(self.ctx.args[position][0])
        return self._instead.get(position, given[0])

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
        given = self.ctx.args[self.position(of)]
        return shape_of(t) if len(given) != 1 else shape_as_written(self.ctx.api, given[0], t)

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
            return broadcast(
                *(
                    shape_of(t) if of is None else self.shape(of)
                    for of, t in zip(operands, given, strict=True)
                    if t is not None and not _shapeless(t)
                )
            )
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

    def several(self, of: int | str, default: Shape) -> Shape:
        """A number for each axis, or one that stands for all of them."""
        t = self.type(of)
        if t is None or isinstance(get_proper_type(t), NoneType):
            return default
        sizes = self.dims(of)
        if len(sizes) not in (1, len(default)):
            raise Unknown
        return sizes * len(default) if len(sizes) == 1 else sizes

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

    def sequence(self, of: int | str) -> tuple[list[Shape | None], bool]:
        """Shapes of the operands in a list or tuple, None for those unknown; and whether each operand is among them."""
        t = self.type(of)
        known = None if t is None else get_proper_type(t)
        written = self.expression(of)
        if isinstance(known, TupleType):
            return [shape_or_none(item) for item in known.items], True
        if not isinstance(written, ListExpr | TupleExpr):
            return _elements(self.ctx.api, written)
        shapes: list[Shape | None] = []
        listed = True
        for x in written.items:
            of_star = _elements(self.ctx.api, x.expr) if isinstance(x, StarExpr) else None
            shapes += [shape_or_none(self.ctx.api.get_expression_type(x))] if of_star is None else of_star[0]
            listed = listed and (of_star is None or of_star[1])
        return shapes, listed

    def array(self, of: int | str) -> Shape | None:
        """Shape of an array of integers, as far as it is known."""
        return gathered(self.ctx.api, self.expression(of)).shape

    def key(self, of: int | str) -> list[Part]:
        """The parts of an index."""
        written = self.expression(of)
        parts = written.items if isinstance(written, TupleExpr) else [written]
        return [each for x in parts for each in selected(self.ctx.api, x)]


_TRUTH_VALUES: Final = frozenset({"builtins.bool", "numpy.bool", "numpy.bool_"})
_FILLED: Final = frozenset({"empty", "full", "ones", "zeros"})  # numpy's, of which the stubs say the rank


def shape_as_written(api: CheckerPluginInterface, x: Expression, t: Type) -> Shape:
    """The shape that an operand's type states, or else the call of numpy that makes it."""
    known = shape_of(t)
    if known and all(n is None for n in known):
        written = _written(api, x)
        return known if written is None or len(written) != len(known) else written
    return known


def _written(api: CheckerPluginInterface, x: Expression) -> Shape | None:
    """The shape of an array that numpy makes right there, as in `np.ones((4, 2), np.float32)`."""
    if not isinstance(x, CallExpr) or not isinstance(x.callee, RefExpr) or not x.args:
        return None
    home, _, name = x.callee.fullname.rpartition(".")
    if not home.startswith("numpy") or name not in _FILLED or x.arg_names[0] not in (None, "shape"):
        return None
    sizes = x.args[0].items if isinstance(x.args[0], TupleExpr | ListExpr) else [x.args[0]]
    return None if any(isinstance(n, StarExpr) for n in sizes) else tuple(dim_at(api, n) for n in sizes)


def _elements(api: CheckerPluginInterface, x: Expression) -> tuple[list[Shape | None], bool]:
    """As `Call.sequence`, of a list or tuple that has a name."""
    # on its own, because as an argument it is a list of all that the operation takes
    known = get_proper_type(api.get_expression_type(x))
    if isinstance(known, TupleType):
        return [shape_or_none(item) for item in known.items], True
    if not isinstance(known, Instance) or len(known.args) != 1:
        return [None], False
    return [shape_or_none(known.args[0])], False


def _shapeless(t: Type) -> bool:
    """Tell whether a type takes part in no shape: Python numbers, and None for an operand left out."""
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


def selected(api: CheckerPluginInterface, x: Expression) -> list[Part]:
    """Selection by one part of an index; a mask chooses places of all axes that it covers, nobody knows how many."""
    t = get_proper_type(api.get_expression_type(x)) if not isinstance(x, SliceExpr) else None
    if not isinstance(t, Instance) or not _has_truth_values(t):
        return [part(api, x)]
    rank = rank_of_array(t) if t.type.has_base("numpy.ndarray") else None
    if rank is None:
        raise Unknown
    return [Gather((None,))] * len(rank)


def _has_truth_values(t: Instance) -> bool:
    """True of an array of numpy's and a list whose elements are of type bool."""
    if not t.args or not (t.type.has_base("numpy.ndarray") or t.type.has_base("builtins.list")):
        return False
    element = get_proper_type(t.args[-1])
    if isinstance(element, Instance) and element.type.fullname == "numpy.dtype" and element.args:
        element = get_proper_type(element.args[0])
    return isinstance(element, Instance) and element.type.fullname in _TRUTH_VALUES


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
    if isinstance(proper, Instance) and proper.type.has_base(INDICES):
        return Gather(shape_or_none(proper))
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
