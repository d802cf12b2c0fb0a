"""Direct style: `@differentiable async def f(...) -> Layer` is a function that gives a layer.

Knows: that each run calls the function anew, that its `await`s are the run's own, and that its annotation is
the layer's kind.
Refuses to know: what the function does.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar, cast, get_args, get_origin, get_type_hints

from wengert.arrays import FLOAT32, FLOAT64
from wengert.control import Do
from wengert.differentiable import Tape
from wengert.errors import ArgumentError, WengertError
from wengert.graph.declared import array_from
from wengert.graph.expressions import ArrayLayer, DoubleLayer, FloatLayer, Layer
from wengert.graph.kinds import Column, Kind, Role, kind
from wengert.graph.node import Expression
from wengert.graph.operand import describe, external, shown, tape_do
from wengert.run.tapes import check_stated
from wengert.site import user_position

P = ParamSpec("P")
L = TypeVar("L", bound="DoubleLayer | FloatLayer | ArrayLayer[Any, Any, Any] | Layer[Any, Any]")


def differentiable(function: Callable[P, Coroutine[Any, Any, L]]) -> Callable[P, L]:
    """A network that depends on values: inside, `await layer` is its data, and `if` and `for` are Python's.

    An awaited value is plain data: it is not differentiated and not computed again in the run. The result's
    kind is what the annotation states; the run checks it. Raises ArgumentError for what is no `async def`.
    >>> from wengert import lift
    >>> @differentiable
    ... async def larger(a: DoubleLayer, b: DoubleLayer) -> DoubleLayer:
    ...     return a if await a > await b else b
    >>> larger(lift(2.0), lift(3.0)).predict().run()
    3.0
    """
    if not inspect.iscoroutinefunction(function):
        raise ArgumentError(
            f"@differentiable takes an `async def`; {getattr(function, '__qualname__', function)} is none\n"
            f"  at {user_position()}"
        )
    stated: list[Kind] = []

    @functools.wraps(function)
    def build(*args: P.args, **kwargs: P.kwargs) -> L:
        if not stated:
            stated.append(result_kind(function))
        source = Do.coroutine(functools.partial(function, *args, **kwargs)).flat_map(
            functools.partial(_forward_of, function, stated[0])
        )
        return cast(L, external(source, stated[0]))  # the kind decides the class, as the annotation states

    return build


def _forward_of(function: Callable[..., object], stated: Kind, result: object) -> Do[Tape[Any, Any]]:
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


def _head(annotation: object) -> object:
    """The layer class at the head of an annotation; what its parameters would state, the run decides."""
    name = str(annotation).strip("'\"").partition("[")[0].rpartition(".")[2]
    return {cls.__name__: cls for cls in (DoubleLayer, FloatLayer, ArrayLayer)}.get(name)


def result_kind(function: Callable[..., object]) -> Kind:
    """The kind that the return annotation states; what it leaves open, the run decides."""
    try:
        hint = get_type_hints(function).get("return")
    except (NameError, TypeError):  # of a union of aliases with default parameters, on Python 3.13.0
        hint = _head(function.__annotations__.get("return"))  # it has names that only a checker sees
    origin = get_origin(hint) or hint
    if origin is DoubleLayer:
        return kind(Column.DOUBLE, (), FLOAT64, "cpu", Role.LAYER)
    if origin is FloatLayer:
        return kind(Column.FLOAT, (), FLOAT32, "cpu", Role.LAYER)
    if origin is ArrayLayer:
        return array_from(get_args(hint), Role.LAYER)
    return kind(Column.OTHER, None, None, "cpu", Role.LAYER)
