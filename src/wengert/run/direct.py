"""Direct style: `@differentiable async def f(...) -> Layer` is a function that gives a layer.

Knows: that each run calls the function anew, that its `await`s are the run's own, and that its annotation is
the layer's kind, or says that there are several layers, or that only the run tells what there is.
Refuses to know: what the function does.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    NamedTuple,
    ParamSpec,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from wengert.arrays import FLOAT32, FLOAT64, Dv, S, T
from wengert.control import Do, gather
from wengert.differentiable import Tape
from wengert.errors import ArgumentError, WengertError
from wengert.graph.answers import Structure
from wengert.graph.expressions import ArrayLayer, DoubleLayer, FloatLayer, Layer
from wengert.graph.kinds import Column, Kind, Role, array_from, kind
from wengert.graph.node import Expression
from wengert.graph.operand import describe, external, shown, tape_do
from wengert.graph.products import fields_of, leaves_of
from wengert.graph.template import joined, projections
from wengert.run.tapes import check_stated
from wengert.site import user_position

P = ParamSpec("P")
D = TypeVar("D")
E = TypeVar("E")
Result: TypeAlias = DoubleLayer | FloatLayer | ArrayLayer[Any, Any, Any] | Layer[Any, Any]  # Any: every layer
# Any: a checker sees one level of what is in a product; the run sees the rest
Several: TypeAlias = tuple["Result | tuple[Any, ...] | Structure", ...] | Structure
L = TypeVar("L", bound=Several)
U = TypeVar("U", bound=Result | Several | None)


# Any, in all: what passes between a coroutine and its driver
@overload
def differentiable(function: Callable[P, Coroutine[Any, Any, DoubleLayer]]) -> Callable[P, DoubleLayer]: ...  # type: ignore[overload-overlap] # narrow first: the last takes what these leave
@overload
def differentiable(function: Callable[P, Coroutine[Any, Any, FloatLayer]]) -> Callable[P, FloatLayer]: ...  # type: ignore[overload-overlap] # narrow first: the last takes what these leave
@overload
def differentiable(
    function: Callable[P, Coroutine[Any, Any, ArrayLayer[S, T, Dv]]],
) -> Callable[P, ArrayLayer[S, T, Dv]]: ...
@overload
def differentiable(function: Callable[P, Coroutine[Any, Any, Layer[D, E]]]) -> Callable[P, Layer[D, E]]: ...
@overload
def differentiable(function: Callable[P, Coroutine[Any, Any, L]]) -> Callable[P, L]: ...  # type: ignore[overload-overlap] # narrow first: the last takes what these leave
@overload
def differentiable(function: Callable[P, Coroutine[Any, Any, U]]) -> Callable[P, Do[U]]: ...
def differentiable(function: Any) -> Any:  # Any: typed by the overloads
    """A network that depends on values: inside, `await layer` is its data, and `if` and `for` are Python's.

    An awaited value is plain data: it is not differentiated and not computed again in the run. The result's
    kind is what the annotation states; the run checks it. Of a tuple, NamedTuple or frozen dataclass of layers the
    same product comes back, and its layers are made by one call. Which it is of `A | None` or `A | B`, only a run
    tells: such a function gives a `Do`, and `await` inside another gives the layer that was chosen, or None.

    Raises ArgumentError for what is no `async def`, and for a tuple of unknown length.
    >>> from wengert import lift
    >>> @differentiable
    ... async def larger(a: DoubleLayer, b: DoubleLayer) -> DoubleLayer:
    ...     return a if await a > await b else b
    >>> larger(lift(2.0), lift(3.0)).predict().run()
    3.0
    """
    if not inspect.iscoroutinefunction(function):
        raise ArgumentError(
            f"@differentiable takes an `async def`, which {getattr(function, '__qualname__', function)} is not; "
            f"a plain function of expressions needs no decorator\n"
            f"  at {user_position()}"
        )
    stated: list[Stated | None] = []

    @functools.wraps(function)
    def build(*args: Any, **kwargs: Any) -> Any:  # Any: as the function states
        if not stated:
            stated.append(stated_by(function))
        source, of = Do.coroutine(functools.partial(function, *args, **kwargs)), stated[0]
        if of is None:
            return source.shared()
        if of.cls is None:
            return layers_of(of, source.flat_map(functools.partial(forward_of, function, of.kinds[0])))
        return layers_of(of, source.flat_map(functools.partial(_forwards_of, function, of)))

    return build


def stated_by(function: Callable[..., object]) -> Stated | None:
    """The result that an annotation states; None of a union. Raises ArgumentError for what is no result."""
    return _stated(function, _returned(function))


def layers_of(of: Stated, source: Do[Tape[Any, Any]]) -> Any:  # Any: a layer or a product, as was stated
    """The layers that an annotation states, whose tape comes from a `Do`: of a product one that was `joined`."""
    if of.cls is None:
        return external(source, of.kinds[0])
    whole = external(source, kind(Column.OTHER, None, tuple, "cpu", Role.LAYER))
    return of.make(iter(projections(whole, of.kinds)))


class Stated(NamedTuple):
    """A return annotation: the kinds of its layers, and the product that they make; of one layer there is no class."""

    kinds: list[Kind]
    make: Callable[[Iterator[Any]], Any]  # Any: layers, and a product of these
    cls: type | None


def _forwards_of(function: Callable[..., object], of: Stated, result: object) -> Do[Tape[Any, Any]]:
    leaves = leaves_of(result)[0] if type(result) is of.cls else []
    if len(leaves) != len(of.kinds):
        raise ArgumentError(
            f"{function.__qualname__} returned {shown(result)}, which is not as its annotation states: a "
            f"{of.cls.__name__ if of.cls else 'layer'} of {len(of.kinds)} layers\n  {_written(function)}"
        )
    parts = zip(of.kinds, leaves, strict=True)
    return gather(*(forward_of(function, stated, leaf) for stated, leaf in parts)).map(joined)


def forward_of(function: Callable[..., object], stated: Kind, result: object) -> Do[Tape[Any, Any]]:
    """The tape of what a function has returned, which has to be a layer as its annotation states."""
    if not isinstance(result, Expression):
        raise ArgumentError(
            f"{function.__qualname__} returned {shown(result)}, which is no layer; "
            "return the expression itself and not what `await` gave, or `lift(value)` for a constant\n"
            f"  {_written(function)}"
        )
    try:
        check_stated(stated, result.kind)
    except WengertError as error:
        raise type(error)(
            f"{function.__qualname__}: {error}\n  {describe(result, result.kind)}\n  {_written(function)}"
        ) from None
    return tape_do(result)


def _written(function: Callable[..., object]) -> str:
    code = inspect.unwrap(function).__code__
    return f"{function.__qualname__} is written at {code.co_filename}:{code.co_firstlineno}"


_INSIDE: Final = re.compile(r"\[[^\[\]]*\]")


def _returned(function: Callable[..., object]) -> object:
    """The return annotation; of one with names that only a checker sees, what can be told from its text."""
    try:
        return get_type_hints(function).get("return")
    except (NameError, TypeError):  # of a union of aliases with default parameters, on Python 3.13.0
        text = str(function.__annotations__.get("return")).strip("'\"")
        while text != (text := _INSIDE.sub("", text)):
            pass  # a level of brackets each
        name = text.rpartition(".")[2]
        if "|" in text or name in ("Optional", "Union"):
            return DoubleLayer | None
        return {cls.__name__: cls for cls in (DoubleLayer, FloatLayer, ArrayLayer)}.get(name)


def _stated(function: Callable[..., object], hint: object) -> Stated | None:
    """The result that an annotation states, recursive over it; None of a union."""
    origin = get_origin(hint) or hint
    if origin in (Union, UnionType, NoneType):
        return None
    if origin is tuple:
        if Ellipsis in get_args(hint):
            raise ArgumentError(
                f"{function.__qualname__}: a tuple of unknown length is no result; write each layer, as in "
                f"tuple[DoubleLayer, DoubleLayer]\n  {_written(function)}"
            )
        return _product(function, tuple, tuple, get_args(hint))
    if isinstance(origin, type) and (hasattr(origin, "_make") or is_dataclass(origin)):
        fields = get_type_hints(origin)
        names: list[str] = list(getattr(origin, "_fields", ())) or fields_of(origin)
        given = dict(zip(getattr(origin, "__parameters__", ()), get_args(hint), strict=False))
        parts = [given.get(fields[name], fields[name]) for name in names]
        make = getattr(origin, "_make", lambda layers: origin(**dict(zip(names, layers, strict=True))))
        return _product(function, origin, make, parts)
    return Stated([_layer_kind(hint)], next, None)


def _product(
    function: Callable[..., object], cls: type, make: Callable[[Iterable[Any]], Any], hints: Sequence[object]
) -> Stated:
    parts = [_stated(function, hint) for hint in hints]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        raise ArgumentError(
            f"{function.__qualname__}: one of several results cannot be a union or None; return one union of all\n"
            f"  {_written(function)}"
        )
    kinds = [of for part in known for of in part.kinds]
    return Stated(kinds, lambda layers: make([part.make(layers) for part in known]), cls)


def _layer_kind(hint: object) -> Kind:
    """The kind that the annotation of one layer states; what it leaves open, the run decides."""
    origin = get_origin(hint) or hint
    if origin is DoubleLayer:
        return kind(Column.DOUBLE, (), FLOAT64, "cpu", Role.LAYER)
    if origin is FloatLayer:
        return kind(Column.FLOAT, (), FLOAT32, "cpu", Role.LAYER)
    if origin is ArrayLayer:
        return array_from(get_args(hint), Role.LAYER)
    return kind(Column.OTHER, None, None, "cpu", Role.LAYER)
