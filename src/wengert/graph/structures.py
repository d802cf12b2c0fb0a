"""Structures that hold expressions: tuples, lists, dictionaries, dataclasses and other objects, in any nesting.

Knows: the parts of a structure, and how one of the same classes is made of other parts, without its constructor.
Refuses to know: which of its parts somebody is after.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, Final, cast

from wengert.graph.kinds import Column, Role
from wengert.graph.node import Expression
from wengert.graph.products import Rebuild, leaves_of

_FLOATING: Final = frozenset({Column.DOUBLE, Column.FLOAT, Column.ARRAY, Column.OTHER})
_BUFFER: Final = Role.BUFFER  # a name of a module is found faster than a member of an enumeration


def parts_of(x: object) -> Iterator[tuple[str, object]]:
    """Parts of a model's part, by name; values of other libraries have none."""
    if isinstance(x, Mapping):
        yield from ((str(key), part) for key, part in x.items())
    elif isinstance(x, list | tuple):
        yield from ((str(i), part) for i, part in enumerate(x))
    elif not isinstance(x, type) and not callable(getattr(type(x), "__get__", None)):
        yield from _attributes(x).items()


def _attributes(x: object) -> dict[str, Any]:  # Any: as in `with_parts`
    """The attributes of an object, also of a dataclass with slots."""
    if is_dataclass(x) and not hasattr(x, "__dict__"):
        return {f.name: getattr(x, f.name) for f in fields(x)}
    found: dict[str, Any] = getattr(x, "__dict__", {})  # Any: as above
    return found


def with_parts(x: Any, parts: Iterable[Any]) -> Any:  # Any: a structure of any class
    """One like `x` with these parts, which are in the order of `parts_of`."""
    if isinstance(x, tuple):
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    if isinstance(x, list):
        return type(x)(parts)
    changed = copy.copy(x)
    if isinstance(x, Mapping):
        changed.update(zip(x, parts, strict=True))
    else:
        for name, part in zip(_attributes(x), parts, strict=True):
            object.__setattr__(changed, name, part)
    return changed


def targets_in(structure: object) -> tuple[tuple[Expression, ...], Rebuild]:
    """The expressions of a structure that may have a delta, left to right, and what puts other parts in their places.

    Any other part, a buffer too, stays itself.
    >>> from wengert import lift
    >>> targets, rebuild = targets_in({"a": 1, "b": [lift(2.0), None]})
    >>> rebuild(["delta"])
    {'a': 1, 'b': ['delta', None]}
    """
    if type(structure) is tuple and all(map(is_target, structure)):  # as most are
        return structure, tuple
    if is_target(structure):
        return (cast(Expression, structure),), _only
    leaves, rebuild = leaves_of(structure, _opened)
    places = [i for i, x in enumerate(leaves) if is_target(x)]

    def filled(values: Iterable[object]) -> Any:  # Any: as in `with_parts`
        parts = list(leaves)
        for place, value in zip(places, values, strict=True):
            parts[place] = value
        return rebuild(parts)

    return tuple(leaves[i] for i in places), filled


def _only(values: Iterable[object]) -> Any:  # Any: as in `with_parts`
    (value,) = values
    return value


def pairs_of(structure: object, other: object) -> Iterator[tuple[str, Expression | None, Any]]:
    """Each expression of a structure that may have a delta, with its place and what `other` has there.

    Where `other` has no such part, the expression is None, and the last is what stands there.
    >>> from wengert import lift
    >>> [(place, other) for place, x, other in pairs_of({"a": [lift(2.0), None]}, {"a": [1.0, None]})]
    [('a.0', 1.0)]
    """
    met: set[int] = set()
    waiting: list[tuple[str, object, object]] = [("", structure, other)]
    while waiting:
        place, x, y = waiting.pop()
        if is_target(x):
            yield place, cast(Expression, x), y
        elif not isinstance(x, Expression) and id(x) not in met:
            met.add(id(x))
            inner = dict(parts_of(x))
            found = dict(parts_of(y)) if inner and type(y) is type(x) else {}
            if not inner.keys() <= found.keys() and targets_in(x)[0]:
                yield place, None, y
            else:
                waiting += [
                    (f"{place}.{name}".strip("."), part, found.get(name)) for name, part in inner.items()
                ]


def is_target(x: object) -> bool:
    """True if `x` is an expression that may have a delta."""
    return isinstance(x, Expression) and x.kind.column in _FLOATING and x.kind.role is not _BUFFER


def _opened(x: object) -> tuple[list[object], Rebuild] | None:
    if isinstance(x, Expression):
        return None
    parts = [part for _, part in parts_of(x)]
    return (parts, partial(_rebuilt, x, parts)) if parts else None


def _rebuilt(x: object, before: list[object], parts: Iterable[object]) -> object:
    parts = list(parts)
    return x if all(a is b for a, b in zip(parts, before, strict=True)) else with_parts(x, parts)
