"""Conversion of what a person writes to operands of nodes: numbers, arrays, layers, registered values.

Knows: which Python and array types fall into which column, that a literal array is kept as a private copy,
as its owner may write to it before a run, and how operands are described in messages.
Refuses to know: what any operation wants.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from inspect import iscoroutine
from types import CodeType
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from wengert.arrays import (
    ARRAY_CLASS,
    FLOAT32,
    FLOAT64,
    FLOATS,
    INTEGER,
    Float32,
    Float64,
    Value,
    device_of,
    dtype_of,
    freeze,
    integer_array,
    interchanged,
    is_array,
    is_float32,
    is_host_array,
    is_other_float,
    shape_of,
)
from wengert.control import Do
from wengert.differentiable import Tape, declared_data, forward, implementation, refusal, registered
from wengert.errors import ArgumentError, DTypeError, NotDifferentiableError, WengertError
from wengert.graph.kinds import (
    NUMBER,
    Column,
    DTypeLike,
    Kind,
    Role,
    Shape,
    kind,
    kind_from_data,
    refused_dtype,
    with_role,
)
from wengert.graph.node import Expression, Node, asked, new_node
from wengert.graph.operation import Operation, Rules
from wengert.site import user_frame, user_position

L = TypeVar("L", bound=Node)
_MOST_SHOWN: Final = 6
FLOAT_LITERAL: Final = kind(Column.FLOAT, (), FLOAT32)
BUILT_IN: Final = frozenset({float, int, bool, Float32, Float64, ARRAY_CLASS})  # what nobody can register
OWN: Final = Role.OWN  # a name of a module is found faster than a member of an enumeration
INDEX: Final = Column.INDEX
INDEX_LITERAL: Final = kind(Column.INDEX, (), INTEGER)
# by the identity of the weight each holds
_given: Final[WeakValueDictionary[int, Node]] = WeakValueDictionary()
_ARRAY_COLUMNS: Final = {"b": Column.MASK, "i": Column.INDEX, "u": Column.INDEX}


def _column(dtype: DTypeLike) -> Column | None:
    """The column of arrays of an element type; None for one that no column has, such as float16."""
    return Column.ARRAY if dtype in FLOATS else _ARRAY_COLUMNS.get(dtype.kind)


def array_kind(x: Value, role: Role = Role.LITERAL) -> Kind:
    """The kind of an array; `DTypeError` for an element type that no column has."""
    column = _column(x.dtype)
    if not x.dtype.isnative:
        raise DTypeError(
            f"an array of {x.dtype} has foreign byte order; write x.astype(x.dtype.newbyteorder('='))"
        )
    if column is None:
        raise DTypeError(f"an array of {refused_dtype(x.dtype)}")
    return kind(column, x.shape, x.dtype, device_of(x), role)


@lru_cache(maxsize=1024)
def host_kind(shape: Shape, dtype: DTypeLike) -> Kind | None:
    """`array_kind` of literals of numpy, a dictionary away; None where that has to say what is wrong."""
    column = _column(dtype)
    return kind(column, shape, dtype) if column is not None and dtype.isnative else None


def value_kind(x: Value, role: Role = Role.LITERAL) -> Kind:
    """The kind of data that a run has computed."""
    if isinstance(x, float):
        return kind(Column.DOUBLE, (), FLOAT64, "cpu", role)
    if is_float32(x):
        return kind(Column.FLOAT, (), FLOAT32, "cpu", role)
    if is_array(x):
        return array_kind(x, role)
    return kind(Column.OTHER, None, type(x), "cpu", role)


def found_kind(of: Kind, x: Value) -> Kind:
    """The kind of data that a run has computed, where `of` left something open.

    The column was stated: a number that numpy has reduced an array to is an array of shape ().
    """
    if of.column is Column.OTHER:
        return value_kind(x, of.role)
    return kind(of.column, shape_of(x), dtype_of(x), device_of(x), of.role)


@lru_cache(maxsize=1 << 16)
def _word(x: int) -> tuple[Any, Kind]:  # Any: an array
    """An integer as an operand, remembered: words and labels come many times."""
    return freeze(integer_array(x)), INDEX_LITERAL


def is_operand(x: object) -> bool:
    """True if a node computes with `x`, so that calls of a cell may differ in it."""
    return (
        isinstance(x, Expression)
        or is_array(x)
        or is_float32(x)
        or (type(x) not in BUILT_IN and registered(x))
    )


def operand(x: Any) -> tuple[Any, Kind]:  # Any: whatever a person writes, and what a node's operands are
    """The operand that a node keeps for `x`, and its kind."""
    cls: type = type(x)
    if cls is ARRAY_CLASS:
        if x.dtype is INTEGER and x.shape == ():
            return _word(x.item())
        return freeze(x), host_kind(x.shape, x.dtype) or array_kind(x)
    if isinstance(x, Expression):
        return (x, x.kind) if x.kind.role is not OWN else _given_by(x)
    if type(x) in BUILT_IN or not registered(x):  # a class that derives from one of them may be registered
        if is_host_array(x):
            return freeze(x), host_kind(x.shape, x.dtype) or array_kind(x)
        if is_float32(x):
            return x, FLOAT_LITERAL
        if isinstance(x, (float, int)):
            return as_number(x), NUMBER
        if is_array(x):
            return freeze(x), array_kind(x)
        if not hasattr(cls, "forward") and (array := interchanged(x)) is not None:
            return freeze(array), array_kind(array)
    layer = lift_registered(x)
    return layer, layer.kind


def _given_by(x: Expression) -> tuple[Node, Kind]:
    """The layer of a weight whose class has a `forward` of its own: every operation reads what that gives.

    One while it is in use, so that what reads it many times reads one value.
    """
    layer = _given.get(id(x))
    if layer is None:
        layer = _given.setdefault(id(x), external(x, with_role(x.kind, Role.LAYER)))
    return layer, layer.kind


def as_number(x: float) -> float:
    """A Python number as the float that operations compute with."""
    try:
        return float(x)
    except OverflowError:
        bits = x.bit_length()  # type: ignore[attr-defined] # only an int overflows
        raise DTypeError(f"an integer of {bits} bits is too large for a float") from None


def lift_registered(x: object) -> Node:
    """The layer of a value whose class is registered, or which is a `Differentiable` by structure."""
    found = implementation(x)
    if found is not None:
        return external(x, kind_from_data(found.data, Role.LAYER))
    declared = getattr(type(x), "forward", None)
    if isinstance(declared, property) and declared.fget is not None:
        return external(x, kind_from_data(declared_data(declared.fget), Role.LAYER))
    if declared is not None:
        raise NotDifferentiableError(
            f"{type(x).__name__}.forward is no property; put @property above its `def`, "
            f"so that `x.forward` is the Do of the tape"
        )
    if is_other_float(x):
        raise DTypeError(f"a number of {refused_dtype(dtype_of(x))}")
    raise NotDifferentiableError(_conversion(x) or refusal(x))


def _conversion(x: object) -> str:
    """Advice for a value that is meant as a number or an array; empty where nothing is obvious."""
    name = type(x).__name__
    if isinstance(x, (list, range)):
        return f"a {name} is not differentiable; write numpy.array(x, dtype)"
    if x is None or isinstance(x, (str, bytes, complex, dict, set)):
        return f"{name} is not differentiable, got {shown(x)}; give a number, an array or an expression"
    if isinstance(x, Tape):
        return (
            f"a Tape is of the run that made it; give the layer, not what its `forward` gave; got {shown(x)}"
        )
    if isinstance(x, Do):
        return f"a Do gives data when it is run; give the layer that it was made of; got {shown(x)}"
    if iscoroutine(x):
        return f"a {name} is not differentiable; put @wengert.differentiable above its `async def`"
    if hasattr(x, "dtype") and hasattr(x, "item"):
        home = type(x).__module__.partition(".")[0]
        advice = "float(x) or numpy.float32(x)" if home == "numpy" else "numpy.asarray(x)"
        return f"a {home}.{name} is not differentiable, got {shown(x)}; write {advice}"
    return ""


def lift_any(x: object, who: str = "lift") -> Expression:
    """Any differentiable value as an expression: itself, or a node that holds it; errors name `who` asked."""
    if isinstance(x, Expression) and x.kind.role is not OWN:
        return x
    try:
        value, of = operand(x)
        if of.column is INDEX:
            raise DTypeError(f"an array of {refused_dtype(of.dtype)}")
    except WengertError as error:
        raise type(error)(f"{who}: {error}\n  at {user_position()}") from None
    if isinstance(value, Expression):
        return value
    signature = LITERAL.signatures.get(of) or LITERAL.signature((of,), ())
    frame = user_frame()
    return new_node(signature.cls, signature.kind, signature, (value,), frame.f_code, frame.f_lasti)


LITERAL: Final = Operation(
    "literal",
    Rules(
        lambda kinds: _as_layer(kinds[0]),
        lambda case, x: x,
        (lambda case, g, y, x: g,),
        batch=lambda batch, x: batch.again(x),
        pure=True,
    ),
)


def unlifted(x: object) -> object:
    """The weight of a layer that is nothing but a weight that has been lifted; anything else as it is."""
    lifted = (
        isinstance(x, Node)
        and x.signature.operation in (LITERAL, FORWARD)
        and isinstance(x.operands[0], Expression)
    )
    return x.operands[0] if lifted else x  # type: ignore[attr-defined] # so it is a node


def stored(weight: Expression) -> Node:
    """The layer of what a weight stores, whatever the `forward` of its class gives."""
    signature = LITERAL.signature((with_role(weight.kind, Role.WEIGHT),), ())
    return new_node(signature.cls, signature.kind, signature, (weight,), weight.code, weight.offset)


def _as_layer(of: Kind) -> Kind:
    return kind(Column.DOUBLE, (), FLOAT64) if of.column is Column.NUMBER else of


def tape_do(x: object) -> Do[Tape[Any, Any]]:  # Any: Data of every type
    """The tape of an expression in the present run, or of a literal."""
    return asked("forward", lift_any(x))


def _never(*operands: object) -> Any:
    raise AssertionError("an external node is run by its Do")


FORWARD: Final = Operation("forward", Rules(lambda kinds, kind: kind, _never, external=True))


def external(source: object, of: Kind) -> Node:
    """A node whose tape comes from a `Do`, or from the `forward` of a user's value."""
    frame = user_frame()
    return _external(source, of, frame.f_code, frame.f_lasti)


def external_like(node: Node, of: Kind) -> Node:
    """A node whose tape comes from the `forward` of another one, built where that was."""
    return _external(node, of, node.code, node.offset)


def _external(source: object, of: Kind, code: CodeType | str, offset: int) -> Node:
    signature = FORWARD.signature((), (("kind", of),))
    return new_node(signature.cls, signature.kind, signature, (source,), code, offset)


def tape_of(node: Node) -> Do[Tape[Any, Any]]:
    """The `Do` behind an external node."""
    (source,) = node.operands
    made: object = source if isinstance(source, Do) else forward(source)
    if not isinstance(made, Do):
        raise ArgumentError(
            f"the forward of {type(source).__name__} gave {shown(made)}, not a Do of a tape; "
            f"write Do.now(Tape(data, backward)), or use `.forward` of a layer"
        )
    return made


def describe(x: object, of: Kind) -> str:
    """One operand in a message: what it is, its name or where it was built, shape and dtype."""
    if of.role >= Role.WEIGHT:
        word = "buffer" if of.role is Role.BUFFER else "weight"
        return f"{word} {getattr(x, 'name', '')!r:.200} {of.text()}"
    if isinstance(x, Node):
        return f"layer {x.signature.operation.name} {of.text()}, built at {x.site}"
    return of.text() if of.column is Column.NUMBER else f"literal {of.text()}"


def describe_given(x: object) -> str:
    """An operand in the words of an error; it may be no expression, and may be refused."""
    if isinstance(x, Expression):
        return describe(x, x.kind)
    if is_array(x):
        return f"literal {shape_of(x)} {dtype_of(x)}"
    return f"{type(x).__name__} {shown(x)}"


def shown(x: object) -> str:
    """The beginning of a `repr`, on one line; the default one of what has none, as an int of 5,000 digits."""
    try:
        text = repr(x)
        return " ".join(text[:60].split()) + " ..." * (len(text) > 60)
    except Exception:  # whatever a user's own `__repr__` raises must not hide what is being reported
        return object.__repr__(x)


def described(operands: Sequence[object], kinds: Sequence[Kind] | None = None) -> str:
    """All operands, one a line, up to six; as given where they have no kinds yet."""
    if kinds is None:
        texts = [describe_given(x) for x in operands[:_MOST_SHOWN]]
    else:
        texts = [describe(x, k) for x, k in zip(operands[:_MOST_SHOWN], kinds, strict=False)]
    rest = [f"  and {len(operands) - _MOST_SHOWN} more"] * (len(operands) > _MOST_SHOWN)
    return "".join(
        f"\n{line}" for line in [*(f"  operand {i}: {text}" for i, text in enumerate(texts)), *rest]
    )


def made_from(cls: type[L], do: object, of: Kind) -> L:
    """The layer whose tape comes from a `Do` that the user has put together."""
    if not isinstance(do, Do):
        raise ArgumentError(
            f"{cls.__name__} takes a Do of a tape, such as `layer.forward.map(...)`; got {shown(do)}\n"
            f"  at {user_position()}"
        )
    layer = external(do, of)
    if not isinstance(layer, cls):
        raise ArgumentError(
            f"{cls.__name__} cannot be a class of its own: the classes of layers are fixed, and operators "
            f"give these; register a class that has a layer\n  at {user_position()}"
        )
    return layer
