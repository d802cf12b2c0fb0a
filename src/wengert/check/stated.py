"""Shapes that annotations of a module's functions state, compared with those that a call has.

Knows: `ArrayLayer[tuple[Batch, Literal[10]]]` and its relatives, of numpy too, and which function a frame runs.
Refuses to know: what a checker knows without a call; where an annotation says nothing, nothing is compared.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, ModuleType
from typing import (
    Any,
    Final,
    Literal,
    NewType,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from wengert.arrays import ARRAY_CLASS
from wengert.dims import Add, FloorDiv, Mul
from wengert.graph.kinds import Shape
from wengert.graph.node import Expression
from wengert.symbolic import known_shape

Dims: TypeAlias = tuple[object, ...]
Function: TypeAlias = Callable[..., object]
_COMPUTED: Final[Mapping[object, Callable[[int, int], int]]] = {
    Add: int.__add__,
    Mul: int.__mul__,
    FloorDiv: int.__floordiv__,
}


def functions_of(module: ModuleType) -> dict[CodeType, Function]:
    """The functions and methods that a module defines, by their code."""
    found: dict[CodeType, Function] = {}
    waiting = [x for x in vars(module).values() if getattr(x, "__module__", None) == module.__name__]
    while waiting:
        x = inspect.unwrap(waiting.pop())
        if inspect.isclass(x):
            waiting += [y for y in vars(x).values() if inspect.isfunction(y) or inspect.isclass(y)]
        elif inspect.isfunction(x):
            found[x.__code__] = x
    return found


def _hints(function: Function) -> dict[str, object]:
    try:
        return get_type_hints(function)
    except (NameError, TypeError):  # a name that only checkers see
        return {}


def takes_arrays(function: Function) -> set[str]:
    """The parameters that take an array of numpy, and no expression."""
    return {name for name, hint in _hints(function).items() if (get_origin(hint) or hint) is ARRAY_CLASS}


def dims_of(function: Function) -> dict[str, Dims]:
    """The dimensions that annotations state, by parameter, and by "return"."""
    stated = ((name, _dims(hint)) for name, hint in _hints(function).items())
    return {name: dims for name, dims in stated if dims is not None}


def _dims(hint: object) -> Dims | None:
    if get_origin(hint) is Union:
        return next((dims for dims in map(_dims, get_args(hint)) if dims is not None), None)
    origin, arguments = get_origin(hint), get_args(hint)
    if not arguments or not isinstance(origin, type) or not issubclass(origin, (Expression, ARRAY_CLASS)):
        return None
    shape = arguments[0]
    return get_args(shape) if get_origin(shape) is tuple and ... not in get_args(shape) else None


def misfits(
    function: Function, given: Mapping[str, object], sizes: Mapping[str, int]
) -> Iterator[tuple[str, str]]:
    """The names in `given` whose shapes differ from their annotations, each with a text that says so."""
    bound = dict(sizes)
    for name, dims in dims_of(function).items():
        shape = known_shape(given[name]) if name in given else None
        if shape is None or _agree(shape, dims, bound):
            continue
        wanted = ", ".join(_name(dim) for dim in dims) + "," * (len(dims) == 1)
        what = "the result has" if name == "return" else f"{name} has"
        yield name, f"{function.__qualname__}: {what} shape {shape}, and its annotation says ({wanted})"


def _agree(shape: Shape, dims: Dims, bound: dict[str, int]) -> bool:
    """True if each size is that of its annotation; a name that is met first is bound."""
    if len(shape) != len(dims):
        return False
    for n, dim in zip(shape, dims, strict=True):
        named = isinstance(dim, (TypeVar, NewType)) or (isinstance(dim, type) and dim is not int)
        wanted = bound.setdefault(_name(dim), n) if named else _size(dim, bound)
        if wanted is not None and wanted != n:
            return False
    return True


def _size(dim: object, bound: Mapping[str, int]) -> int | None:
    """The number that a dimension is; None where that is not known."""
    origin, arguments = get_origin(dim), get_args(dim)
    if origin is Literal:
        return arguments[0] if isinstance(arguments[0], int) else None
    if origin in _COMPUTED:
        a, b = (_size(x, bound) for x in arguments)
        return None if a is None or b is None else _COMPUTED[origin](a, b)
    return bound.get(_name(dim))


def _name(dim: object) -> str:
    if get_origin(dim) is Literal:
        return str(get_args(dim)[0])
    if get_origin(dim) in _COMPUTED:
        word = {Add: " + ", Mul: "*", FloorDiv: "//"}[get_origin(dim)]  # type: ignore[index] # one of the three
        return word.join(map(_name, get_args(dim)))
    return "?" if dim is Any or dim is int else getattr(dim, "__name__", str(dim))
