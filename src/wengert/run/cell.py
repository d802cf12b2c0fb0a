"""`@cell`: a function of expressions as one node a call.

Knows: which arguments are operands (expressions, arrays, also within tuples and frozen dataclasses) and which
belong to the cell as they are; that it is traced once for each combination of kinds.
Refuses to know: what the function does, and how a template is run.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, Final, Generic, NamedTuple, ParamSpec, TypeVar, cast

from wengert.arrays import ARRAY_CLASS, freeze, is_array, is_float32
from wengert.differentiable import registered
from wengert.errors import ArgumentError, WengertError
from wengert.graph.kinds import Kind
from wengert.graph.node import Expression, new_node, next_serial
from wengert.graph.operand import array_kind, operand, shown
from wengert.graph.operation import Operation, Rules, Signature
from wengert.graph.products import Rebuild, is_product, leaves_of, parts_of
from wengert.graph.site import PACKAGE, user_frame, user_position
from wengert.graph.template import CellSignature, traced
from wengert.graph.weights import Weight

P = ParamSpec("P")
R = TypeVar("R")
_getframe = sys._getframe
_new = object.__new__  # as in `apply`
_MOST_KINDS: Final = 1024
_kinds: Final[dict[tuple[Any, Any], Kind]] = {}  # Any: shapes and element types of literal arrays


class Parts:
    """The delta of a cell that returned several expressions: what has arrived at some of them."""

    __slots__ = ("arrived",)

    def __init__(self, arrived: dict[int, Any]) -> None:  # Any: deltas of every type
        self.arrived = arrived

    def __add__(self, other: Parts) -> Parts:
        both = dict(self.arrived)
        for index, delta in other.arrived.items():
            both[index] = both[index] + delta if index in both else delta
        return Parts(both)


PART: Final = Operation(
    "part",
    Rules(
        lambda kinds, *, index, of: of,
        lambda case, x, *, index, of: x[index],
        (lambda case, g, y, x, *, index, of: Parts({index: g}),),
    ),
)


class Cell(Generic[P, R]):
    """A function of expressions; what it closes over is as it was when it was traced."""

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        name = getattr(function, "__qualname__", "cell")
        self._operation = Operation(name, None, function.__module__, listed=False)
        self.at: tuple[CodeType | str, int] | None = None  # where calls count as written, if not here
        self._calls: dict[tuple[Any, ...] | None, _Call] = {}  # Any: kinds, and lengths of tuples of them

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        found: _Call | None = None
        operands: tuple[Any, ...] = args  # Any: expressions and literals
        if not kwargs:
            try:  # expressions only, of kinds already met
                found = self._calls[tuple([x._kind for x in args])]  # type: ignore[attr-defined] # else the except
            except (AttributeError, KeyError):
                key, operands = _flat(args)
                found = self._calls.get(key)
        if found is None:
            return self._long_way(args, kwargs)
        if self.at is None:
            frame = _getframe(1)
            if frame.f_code.co_filename.startswith(PACKAGE):
                frame = user_frame()
            code, offset = frame.f_code, frame.f_lasti
        else:
            code, offset = self.at  # type: ignore[assignment] # of a block that was pickled, a text is left
        signature, captured, parts, rebuild = found
        cls = signature.cls
        node = _new(cls)
        node._kind = signature.kind
        node._signature = signature
        node._operands = operands + captured
        node._serial = next_serial()
        node._code = code
        node._offset = offset
        if rebuild is None:
            return cast(R, node)
        owner = (node,)
        made = []
        for part in parts:
            result = _new(part.cls)
            result._kind = part.kind
            result._signature = part
            result._operands = owner
            result._serial = next_serial()
            result._code = code
            result._offset = offset
            made.append(result)
        return cast(R, rebuild(made))

    def _long_way(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:  # Any: arguments of every type
        """A call of a form that has not been met, or with arguments that belong to the trace."""
        leaves, fill = leaves_of((args, tuple(kwargs.items())))
        places = [i for i, x in enumerate(leaves) if _is_operand(x)]
        try:
            pairs = [operand(leaves[i]) for i in places]
        except Exception as error:
            raise type(error)(f"{self._operation.name}: {error}\n  at {user_position()}") from None
        kinds = tuple(of for _, of in pairs)
        if not all(of.known for of in kinds):  # only the run knows: no template can be made before it
            return self._function(*args, **kwargs)
        signature = self._signature(kinds, leaves, places, fill, _form((args, tuple(kwargs.items()))))
        call = _call_of(signature)
        key, _ = _flat(args)
        if key is not None and not kwargs:
            self._calls[key] = call
        frame = user_frame()
        code, offset = self.at or (frame.f_code, frame.f_lasti)
        operands = (*[value for value, _ in pairs], *call.captured)
        node = new_node(signature.cls, signature.kind, signature, operands, code, offset)
        if call.rebuild is None:
            return cast(R, node)
        made = [new_node(part.cls, part.kind, part, (node,), node._code, node._offset) for part in call.parts]
        return cast(R, call.rebuild(made))

    def __get__(self, owner: object, cls: type | None = None) -> Any:  # Any: P without its first, and R
        bound: Callable[..., Any] = self.__call__
        return self if owner is None else functools.partial(bound, owner)

    def _signature(
        self, kinds: tuple[Kind, ...], leaves: list[Any], places: list[int], fill: Rebuild, form: object
    ) -> CellSignature:  # Any: arguments of every type
        key = (kinds, form)
        try:
            found = self._operation.signatures.get(key)
        except TypeError:
            raise ArgumentError(
                f"{self._operation.name}: an argument of a cell is an expression, an array, a tuple of these, or "
                f"something hashable that belongs to the cell\n  at {user_position()}"
            ) from None
        if found is None:

            def filled(parameters: Any) -> Any:  # Any: nodes in place of arguments
                inside = dict(zip(places, parameters, strict=True))
                return fill(inside.get(i, x) for i, x in enumerate(leaves))

            template = traced(self._function, kinds, filled, self._operation.name)
            found = CellSignature(self._operation, kinds, template, (("form", form),))
            self._operation.signatures[key] = found
        return cast(CellSignature, found)


def _is_operand(x: object) -> bool:
    return (
        isinstance(x, Expression)
        or is_array(x)
        or is_float32(x)
        or (not isinstance(x, (int, float)) and registered(x))
    )


def _form(x: object) -> object:
    """What two calls have in common: the nesting, and every argument that is no operand, by type and value."""
    items: list[object] = []
    todo: list[object] = [x]
    while todo:
        item = todo.pop()
        if is_product(item):
            parts, _ = parts_of(item)
            items.append((type(item), len(parts)))
            todo.extend(reversed(parts))
        else:
            items.append(None if _is_operand(item) else (type(item), item))
    return tuple(items)


class _Call(NamedTuple):
    """What a call makes: a node, and one for each of several results. `rebuild` is None for a single one."""

    signature: CellSignature
    captured: tuple[Weight, ...]
    parts: tuple[Signature, ...]
    rebuild: Rebuild | None


def _call_of(signature: CellSignature) -> _Call:
    template = signature.template
    if template.single:
        return _Call(signature, template.captured, (), None)
    parts = tuple(
        PART.signature((signature.kind,), (("index", index), ("of", x.kind)))
        for index, x in enumerate(template.results)
    )
    whole = template.rebuild(parts)
    plain = type(whole) is tuple and whole == parts  # which `tuple` puts together faster
    return _Call(signature, template.captured, parts, tuple if plain else template.rebuild)


def _kind_of(x: Any) -> Kind:  # Any: an array
    """Its kind as a literal; a look-up where such arrays have been met."""
    key = (x.shape, x.dtype)
    found = _kinds.get(key)
    if found is None:
        found = array_kind(x)
        if len(_kinds) >= _MOST_KINDS:
            _kinds.clear()
        _kinds[key] = found
    return found


def _flat(
    args: tuple[Any, ...],
) -> tuple[tuple[Any, ...] | None, tuple[Any, ...]]:  # Any: arguments of every type
    """What calls with such arguments have in common, and the operands; None for arguments of other forms."""
    key: list[Any] = []
    operands: list[Any] = []
    for x in args:
        several = x.__class__ is tuple
        for part in x if several else (x,):
            if isinstance(part, Expression):
                key.append(part._kind)
                operands.append(part)
            elif type(part) is ARRAY_CLASS:
                try:
                    of = _kind_of(part)
                except WengertError:
                    return None, ()  # the long way says where
                key.append(of)
                operands.append(freeze(part))
            else:
                return None, ()
        if several:
            key.append(len(x))
    return tuple(key), tuple(operands)


def cell(function: Callable[P, R]) -> Callable[P, R]:
    """A function of expressions that becomes one node a call.

    It is traced once for each combination of operand types; expressions and arrays, also in tuples and frozen
    dataclasses, are operands, and anything else (a number, a name) belongs to the trace and has to be hashable.
    Weights that it reads without being given them are operands, too. It may return a tuple of expressions.
    Derivative: that of what it does.
    Raises ArgumentError where it returns no expression or waits for a value.
    >>> from wengert import DoubleLayer, lift
    >>> @cell
    ... def step(h: DoubleLayer, x: DoubleLayer) -> tuple[DoubleLayer, DoubleLayer]:
    ...     return h + x, h * x
    >>> a, b = step(lift(2.0), lift(3.0))
    >>> (a * b).predict().run()
    30.0
    """
    if not callable(function):
        raise ArgumentError(
            f"@cell takes a function of expressions; got {shown(function)}\n  at {user_position()}"
        )
    return cast(Callable[P, R], Cell(function))
