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
from wengert.graph.declared import array_from
from wengert.graph.expressions import ArrayLayer, DoubleLayer, FloatLayer, Layer
from wengert.graph.kinds import Column, Kind, Role, kind
from wengert.graph.node import Expression
from wengert.graph.operand import external, tape_do

P = ParamSpec("P")
L = TypeVar("L", bound="DoubleLayer | FloatLayer | ArrayLayer[Any, Any, Any] | Layer[Any, Any]")


def differentiable(function: Callable[P, Coroutine[Any, Any, L]]) -> Callable[P, L]:
    """A network that depends on values: inside, `await layer` is its data, and `if` and `for` are Python's.

    An awaited value is plain data: it is not differentiated and not computed again in the run. The result's
    kind is what the annotation states; the run checks it (D47).
    >>> from wengert import lift
    >>> @differentiable
    ... async def larger(a: DoubleLayer, b: DoubleLayer) -> DoubleLayer:
    ...     return a if await a > await b else b
    >>> larger(lift(2.0), lift(3.0)).predict().run()
    3.0
    """
    if not inspect.iscoroutinefunction(function):
        raise TypeError(f"@differentiable takes an `async def`; {function.__qualname__} is a plain function")
    stated: list[Kind] = []

    @functools.wraps(function)
    def build(*args: P.args, **kwargs: P.kwargs) -> L:
        if not stated:
            stated.append(result_kind(function))
        source = Do.coroutine(functools.partial(function, *args, **kwargs)).flat_map(
            functools.partial(_forward_of, function)
        )
        return cast(L, external(source, stated[0]))  # the kind decides the class, as the annotation states

    return build


def _forward_of(function: Callable[..., object], result: object) -> Do[Tape[Any, Any]]:
    if not isinstance(result, Expression):
        code = inspect.unwrap(function).__code__
        raise TypeError(
            f"{function.__qualname__} returned {result!r:.60}, which is no layer; "
            f"return an expression, as in `return lift(value)`\n  at {code.co_filename}:{code.co_firstlineno}"
        )
    return tape_do(result)


def result_kind(function: Callable[..., object]) -> Kind:
    """The kind that the return annotation states; what it leaves open, the run decides."""
    try:
        hint = get_type_hints(function).get("return")
    except NameError:
        hint = None  # names that only a checker sees; the run decides everything
    origin = get_origin(hint) or hint
    if origin is DoubleLayer:
        return kind(Column.DOUBLE, (), FLOAT64, "cpu", Role.LAYER)
    if origin is FloatLayer:
        return kind(Column.FLOAT, (), FLOAT32, "cpu", Role.LAYER)
    if origin is ArrayLayer:
        return array_from(get_args(hint), Role.LAYER)
    return kind(Column.OTHER, None, None, "cpu", Role.LAYER)
