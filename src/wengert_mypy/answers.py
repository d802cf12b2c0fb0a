"""Types of answers to questions about structures: the values, or the derivatives, in the place of each expression.

Knows: that an answer has the structure of what was asked for; that one for a NamedTuple is a tuple too, and that the
attributes of others are looked up in the class that was asked for.
Refuses to know: rules of shapes, and which expressions a run takes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from mypy.errorcodes import ARG_TYPE
from mypy.nodes import DictExpr, Expression, ListExpr, TupleExpr, TypeInfo
from mypy.plugin import AttributeContext, FunctionContext, Plugin
from mypy.subtypes import is_same_type
from mypy.typeops import make_simplified_union
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    NoneType,
    Overloaded,
    ProperType,
    TupleType,
    Type,
    TypeOfAny,
    UnionType,
    get_proper_type,
)

from wengert_mypy.calls import Context, shape_as_written
from wengert_mypy.checker import as_base, failed, member, opened
from wengert_mypy.dimensions import Unknown, Writer, shape_of
from wengert_mypy.names import (
    ANSWER,
    ARRAY_OPERAND,
    BUFFER,
    DELTAS,
    EXPRESSION,
    JACOBIAN_LAYERS,
    JACOBIANS,
    NDARRAY,
    NUMPY_SCALAR,
    SCALAR_OPERAND,
    SHAPE,
    VALUES,
)
from wengert_shapes.rules import Shape, differ, text

_KEPT: Final = frozenset({"builtins", "numpy", "enum", "wengert.plugins"})  # classes that hold no expression
_LISTED: Final = frozenset({"builtins.list", "builtins.tuple", "builtins.dict"})
ANSWERS: Final = frozenset({ANSWER, DELTAS, VALUES, JACOBIANS, JACOBIAN_LAYERS})
_WITH_VECTOR: Final = 4  # loss, wrt, v, at
Leaf: TypeAlias = Callable[["Asking", Instance], Type]


class Asking(NamedTuple):
    """A question about a structure: what stands for a model in the answer, if not itself, and for a leaf."""

    ctx: Context | AttributeContext
    answer: Instance | None
    leaf: Leaf
    around: frozenset[str] = frozenset()  # the classes that the part is in

    def of(self, part: Type) -> Type:
        """The type in the place of a part."""
        found = opened(part)
        if isinstance(found, UnionType):
            return make_simplified_union([self.of(x) for x in found.items])
        if isinstance(found, TupleType):
            return self._of_tuple(found)
        if not isinstance(found, Instance) or found.type.fullname == "builtins.object":
            return found if isinstance(found, NoneType) else _unknown()
        if found.type.fullname in _LISTED:
            return Instance(found.type, [*found.args[:-1], self.of(found.args[-1])])
        return self.leaf(self, found)

    def _of_tuple(self, found: TupleType) -> Type:
        named = found.partial_fallback.type.is_named_tuple
        if named and self.answer is None:
            return found
        items = [self.of(x) for x in found.items]
        return TupleType(items, self.model(found) if named else found.partial_fallback)

    def model(self, found: Instance | TupleType) -> Instance:
        """The type in the place of a model: its own class, if generic in all that changes, else an `Answer`."""
        assert self.answer is not None, "asked of data"
        if isinstance(found, Instance) and found.args and found.type.fullname not in self.around:
            inner = self._replace(around=self.around | {found.type.fullname})
            made = Instance(found.type, [inner.of(x) for x in found.args])
            names = [x["name"] for x in found.type.metadata.get("dataclass", {}).get("attributes", ())]
            if names and all(
                is_same_type(inner.of(self._field(found, x)), self._field(made, x)) for x in names
            ):
                return made
        return Instance(self.answer.type, [found, *self.answer.args[1:]])

    def _field(self, of: Instance, name: str) -> Type:
        return member(self.ctx.api, of, name, self.ctx.context)

    def member(self, of: Instance, name: str) -> ProperType:
        """The type of an attribute, or the result of a method; of overloads the first that fits."""
        found = get_proper_type(member(self.ctx.api, of, name, self.ctx.context))
        if isinstance(found, Overloaded):
            found = found.items[0]
        return get_proper_type(found.ret_type) if isinstance(found, CallableType) else found

    def named(self, name: str) -> Type:
        """A class of Python's own."""
        return self.ctx.api.named_generic_type(name, [])


def _value(asking: Asking, found: Instance) -> Type:
    """The data of an expression, of a literal, or of a structure."""
    info = found.type
    if info.has_base(NDARRAY) or (info.has_base(NUMPY_SCALAR) and not info.has_base("builtins.float")):
        return found
    if info.has_base("builtins.float") or info.has_base("builtins.int"):
        return asking.named("builtins.float")
    if info.has_base(EXPRESSION):
        return _parameter(asking.member(found, "predict"), "wengert.control.do.Do")
    if info.get("forward") is not None:
        tape = _parameter(asking.member(found, "forward"), "wengert.control.do.Do")
        return _parameter(get_proper_type(tape), "wengert.differentiable.Tape")
    return asking.model(found) if "dataclass" in info.metadata else _unknown()


def _derivative(asking: Asking, found: Instance, what: str) -> Type:
    """The derivative by an expression, which is its member `what`; a structure of them; what has none is itself."""
    if found.type.has_base(EXPRESSION):
        return found if _is_constant(found) else asking.member(found, what)
    return _other(asking, found)


_delta: Final[Leaf] = partial(_derivative, what="_delta")  # as data
_layer: Final[Leaf] = partial(_derivative, what="_layer")  # as an expression


def _other(asking: Asking, found: Instance) -> Type:
    info = found.type
    if info.fullname.startswith(tuple(f"{module}." for module in _KEPT)) or info.is_enum:
        return found
    if _is_model(found):
        return found if asking.answer is None else asking.model(found)
    return _unknown()  # an object that may hold expressions


def _is_constant(found: Instance) -> bool:
    """True if an expression has no derivative: a buffer, a mask, computed integers."""
    return found.type.has_base(BUFFER) or found.type.get("_delta") is None


def _is_model(found: Instance) -> bool:
    return "dataclass" in found.type.metadata or found.type.get("__call__") is not None


def _parameter(of: ProperType, name: str) -> Type:
    """The first type argument of a generic class."""
    base = as_base(of, name) if isinstance(of, Instance) else None
    return base.args[0] if base is not None and base.args else _unknown()


def _unknown() -> AnyType:
    return AnyType(TypeOfAny.implementation_artifact)


def attribute(plugin: Plugin, ctx: AttributeContext, name: str) -> Type:
    """The type of an attribute of an answer; mypy refuses one that the structure lacks."""
    given = get_proper_type(ctx.type)
    answer = given.partial_fallback if isinstance(given, TupleType) else given
    if not isinstance(answer, Instance) or answer.type.fullname not in ANSWERS:
        return ctx.default_attr_type
    leaf: Leaf = _delta if answer.type.fullname == DELTAS else _value
    if answer.type.fullname in _MATRICES:
        x = get_proper_type(answer.args[1])
        assert isinstance(x, Instance), "it is bound to arrays"
        try:
            outer = shape_of(x)
        except Unknown:
            return ctx.default_attr_type
        writer = Writer(plugin, ctx.api.named_generic_type)
        leaf = partial(_of_elements, x, outer, writer, what=_MATRICES[answer.type.fullname])
    return Asking(ctx, answer, leaf).of(member(ctx.api, answer.args[0], name, ctx.context))


def predicted(plugin: Plugin, ctx: FunctionContext) -> Type:
    """Of `predict`: a `Do` of the values."""
    given = _structure(ctx, 0)
    result = get_proper_type(ctx.default_return_type)
    if given is None or not isinstance(result, Instance):
        return result
    return Instance(result.type, [_asking(plugin, ctx, VALUES, _value).of(given)])


def trained(plugin: Plugin, ctx: Context) -> Type:
    """Of `train` with second results: a `Do` of the loss and the values."""
    result = get_proper_type(ctx.default_return_type)
    given = _structure(ctx, ctx.callee_arg_names.index("also")) if "also" in ctx.callee_arg_names else None
    pair = get_proper_type(result.args[0]) if isinstance(result, Instance) and result.args else None
    if given is None or not isinstance(result, Instance) or not isinstance(pair, TupleType):
        return result
    values = _asking(plugin, ctx, VALUES, _value).of(given)
    return Instance(result.type, [pair.copy_modified(items=[pair.items[0], values])])


def differentiated(plugin: Plugin, ctx: FunctionContext) -> Type:
    """Of `gradients`: the derivatives, and the same as layers."""
    given = _structure(ctx, 1)
    return ctx.default_return_type if given is None else _derivatives(plugin, ctx, given)


def _derivatives(plugin: Plugin, ctx: FunctionContext, given: Type) -> Type:
    result = get_proper_type(ctx.default_return_type)
    if not isinstance(result, Instance) or len(result.args) != 2:
        return result
    deltas = _asking(plugin, ctx, DELTAS, _delta).of(given)
    return Instance(result.type, [deltas, Asking(ctx, None, _layer).of(given)])


def multiplied(plugin: Plugin, ctx: FunctionContext) -> Type:
    """Of `hessian_product` by a structure and a vector: as of `gradients`."""
    given = _any_structure(ctx, 1)
    if given is None or len(ctx.arg_types) != _WITH_VECTOR:
        return ctx.default_return_type
    _check_vector(ctx, "hessian_product", given)
    return _derivatives(plugin, ctx, given)


def directed(plugin: Plugin, ctx: FunctionContext) -> Type:
    """Of `jvp`: what its signature says, with a look at the vector."""
    given = _any_structure(ctx, 1)
    if given is not None and len(ctx.arg_types) == _WITH_VECTOR:
        _check_vector(ctx, "jvp", given)
    return ctx.default_return_type


def _check_vector(ctx: FunctionContext, name: str, wrt: Type) -> None:
    """Refuse a vector that is no structure as `wrt`, or in which an array has another shape."""
    if len(ctx.args[2]) != 1:
        return
    waiting = [(opened(wrt), ctx.args[2][0])]
    while waiting:
        w, x = waiting.pop()
        v = opened(ctx.api.get_expression_type(x))
        if isinstance(w, TupleType) and isinstance(v, Instance) and _is_array(v):
            why = "the vector is a structure as `wrt`, with an array in the place of each expression"
            failed(ctx.api, f"{name}: {why}; it is one array here", x, ARG_TYPE)
        elif isinstance(w, TupleType) and isinstance(x, TupleExpr) and len(w.items) == len(x.items):
            waiting += zip(map(opened, w.items), x.items, strict=True)
        elif isinstance(w, Instance) and isinstance(v, Instance) and _is_array(w) and _is_array(v):
            _check_direction(ctx, name, w, v, x)


def _is_array(t: Instance) -> bool:
    return t.type.has_base(ARRAY_OPERAND) or t.type.has_base(NDARRAY)


def _check_direction(ctx: FunctionContext, name: str, w: Instance, v: Instance, x: Expression) -> None:
    try:
        wanted, shape = shape_of(w), shape_as_written(ctx.api, x, v)
    except Unknown:
        return
    if len(wanted) != len(shape) or any(map(differ, wanted, shape)):
        failed(ctx.api, f"{name}: a tangent of shape {text(shape)} for one of {text(wanted)}", x, SHAPE)


def jacobians(plugin: Plugin, ctx: FunctionContext) -> Type:
    """Of `jacobian`: arrays of the shape of what is derived, and of that by which it is."""
    result = get_proper_type(ctx.default_return_type)
    if not isinstance(result, Instance) or len(result.args) != 2 or not all(map(len, ctx.arg_types[:2])):
        return result
    x, wrt = get_proper_type(ctx.arg_types[0][0]), _any_structure(ctx, 1)
    if wrt is None:
        return result
    if not isinstance(x, Instance) or not (x.type.has_base(ARRAY_OPERAND) or x.type.has_base(SCALAR_OPERAND)):
        return result
    try:
        outer = shape_of(x)
    except Unknown:
        return result
    if not outer:
        return _derivatives(plugin, ctx, wrt)
    writer = Writer(plugin, ctx.api.named_generic_type)
    found: list[Type] = []
    for name, what in _MATRICES.items():
        asking = _asking(plugin, ctx, name, partial(_of_elements, x, outer, writer, what=what))
        answer = asking.answer
        found.append(asking._replace(answer=answer and Instance(answer.type, [x, x])).of(wrt))
    return Instance(result.type, found)


_MATRICES: Final = {JACOBIANS: "_delta", JACOBIAN_LAYERS: "_layer"}


def _of_elements(
    x: Instance, outer: Shape, writer: Writer, asking: Asking, found: Instance, what: str
) -> Type:
    """An array of two shapes: `_delta` of an expression is its array, and `_layer` its layer."""
    scalar = as_base(found, SCALAR_OPERAND)
    if not found.type.has_base(EXPRESSION) or _is_constant(found):
        return _other(asking, found)
    made = asking.member(x if scalar is not None else found, what)
    if not isinstance(made, Instance) or len(made.args) < 2:
        return _unknown()
    try:
        shape: Type = writer.shape_type((*outer, *shape_of(found)))
    except Unknown:
        shape = _unknown()
    dtype = made.args[1] if scalar is None else scalar.args[0]
    if scalar is not None and what == "_delta":
        of = get_proper_type(made.args[1])
        dtype = Instance(of.type, [dtype]) if isinstance(of, Instance) else dtype
    return Instance(made.type, [shape, dtype, *made.args[2:]])


QUESTIONS: Final[dict[str, Callable[[Plugin, FunctionContext], Type]]] = {
    "wengert.run.ask.predict": predicted,
    "wengert.run.ask.train": trained,
    "wengert.run.gradient.gradients": differentiated,
    "wengert.run.gradient.hessian_product": multiplied,
    "wengert.run.gradient.jacobian": jacobians,
    "wengert.run.gradient.jvp": directed,
}


def _asking(plugin: Plugin, ctx: Context, name: str, leaf: Leaf) -> Asking:
    found = plugin.lookup_fully_qualified(name)
    assert found is not None and isinstance(found.node, TypeInfo), "whoever asks has it"
    return Asking(ctx, Instance(found.node, []), leaf)


def _structure(ctx: Context, position: int) -> Type | None:
    """An argument that is no expression, and no tuple of expressions only, of which the signatures know the answer."""
    t = _any_structure(ctx, position)
    if isinstance(t, TupleType):
        plain = not t.partial_fallback.type.is_named_tuple and all(map(_is_expression, t.items))
        return None if plain else t
    if t is None or t.type.has_base(EXPRESSION):
        return None
    return None if t.type.fullname in _LISTED and _is_expression(t.args[-1]) else t


def _any_structure(ctx: Context, position: int) -> Instance | TupleType | None:
    """An argument that is an expression or a structure of some."""
    if len(ctx.args[position]) != 1:
        return None
    (written,), (stated,) = ctx.args[position], ctx.arg_types[position]
    # on its own, for a parameter that takes any would make it one of any
    if isinstance(written, ListExpr | DictExpr):
        stated = ctx.api.get_expression_type(written)
    t = get_proper_type(stated)
    if isinstance(t, TupleType):
        return t
    if not isinstance(t, Instance):
        return None
    known = t.type.has_base(EXPRESSION) or t.type.fullname in _LISTED or "dataclass" in t.type.metadata
    return t if known else None


def _is_expression(t: Type) -> bool:
    found = get_proper_type(t)
    return isinstance(found, Instance) and found.type.has_base(EXPRESSION)
