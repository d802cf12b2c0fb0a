"""An expression in four parts, of which each travels, or stays, by itself: `portable`.

Knows: that arrays are no part of a structure, so that two steps on other data have one; pickle, and cloudpickle for
functions and classes that cannot be imported.
Refuses to know: files, and where a part is sent.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from gc import get_referents
from hashlib import sha256
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any, Final, Generic, TypeVar

from wengert.arrays import Value, is_array
from wengert.errors import ArgumentError
from wengert.graph import Weight
from wengert.graph.operand import shown
from wengert.site import user_position

X = TypeVar("X")
_FAILURES: Final = pickle.PicklingError, AttributeError, TypeError


@dataclass(frozen=True, eq=False)
class Portable(Generic[X]):
    """The parts of an expression, or of a `Do`: bytes without arrays and their digest, its arrays, its weights."""

    digest: str
    structure: bytes
    literals: tuple[Value, ...]
    weights: tuple[Weight, ...]

    def expression(
        self, literals: Sequence[Value] | None = None, weights: Sequence[Weight] | None = None
    ) -> X:
        """The expression, with these arrays and weights or its own. Raises ArgumentError for another number of them.

        The structure is read by pickle: take it from whom you trust, as a function.
        """
        parts: dict[str, Sequence[object]] = {
            "literal": self.literals if literals is None else literals,
            "weight": self.weights if weights is None else weights,
        }
        for what, own in (("literal", self.literals), ("weight", self.weights)):
            if len(parts[what]) != len(own):
                raise ArgumentError(
                    f"portable: it has {len(own)} {what}s, and {len(parts[what])} are given\n  at {user_position()}"
                )
        found: X = _Unpickler(self.structure, parts).load()
        return found


def portable(expression: X) -> Portable[X]:
    """Take an expression apart: a structure that is the same for every step of a loop, and what is new in each.

    Raises ArgumentError for what cannot be pickled, also by cloudpickle where that is installed.
    >>> import numpy as np, wengert as wg
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.1).array_weight(np.ones(1000))
    >>> first, second = (portable(wg.sum(w * np.full(1000, x))) for x in (1.0, 2.0))
    >>> first.digest == second.digest, len(first.structure) < 10_000, first.weights == (w,)
    (True, True, True)
    >>> first.expression(second.literals).predict().run()
    array(2000.)

    Source: `pickle`'s persistent ids.
    """
    try:
        return _apart(pickle.Pickler, expression)
    except _FAILURES as failure:
        reason: Exception = failure
    try:
        return _apart(import_module("cloudpickle").Pickler, expression)
    except ImportError:
        advice = "; pip install cloudpickle for functions and classes that cannot be imported"
    except _FAILURES as failure:
        reason, advice = failure, ""
    raise ArgumentError(
        f"portable: {shown(expression)} cannot be pickled: {reason!s:.200}{holder_of(expression)}{advice}\n"
        f"  at {user_position()}"
    ) from reason


def holder_of(x: object) -> str:
    """The field, or variable of a function, that keeps `x` from being pickled, as words of an error; empty if unknown.

    Pickle asks about each object before it writes it, so the last one is the one that cannot be, and those that hold
    it came before.
    """
    try:
        pickler = import_module("cloudpickle").Pickler
    except ImportError:
        pickler = pickle.Pickler
    seen: list[object] = []
    made = pickler(io.BytesIO(), protocol=pickle.HIGHEST_PROTOCOL)
    made.persistent_id = lambda y: seen.append(y) if not isinstance(y, Weight) else 0
    try:
        made.dump(x)
    except _FAILURES:
        inside = {id(y) for y in seen[-1:]}
        for holder in reversed(seen):
            for name, value in _names_in(holder):
                if id(value) in inside:
                    return f", which is {name}; make that where it is used, or leave it out in __getstate__"
            if not inside.isdisjoint(map(id, get_referents(holder))):
                inside.add(id(holder))
    return ""


def _names_in(holder: object) -> Iterator[tuple[str, object]]:
    """Objects that one of the user's, or a function, holds, each after words for the name that it has there."""
    module = holder.__module__ if isinstance(holder, FunctionType) else type(holder).__module__
    if module.startswith("wengert."):
        return
    if isinstance(holder, FunctionType):
        code = holder.__code__
        for name, cell in zip(code.co_freevars, holder.__closure__ or (), strict=True):
            with suppress(ValueError):  # it has nothing yet
                yield f"variable {name!r} of {holder.__qualname__}", cell.cell_contents
        for name in code.co_names:
            if name in holder.__globals__:
                yield f"global variable {name!r} of {holder.__qualname__}", holder.__globals__[name]
    elif hasattr(holder, "__dict__") and not isinstance(holder, type | ModuleType):
        for name, value in vars(holder).items():
            yield f"field {name!r} of {type(holder).__qualname__}", value


def _apart(pickler: Callable[..., Any], expression: X) -> Portable[X]:  # Any: of either package
    literals: list[Value] = []
    weights: list[Weight] = []
    numbers: dict[int, tuple[str, int]] = {}  # by identity: what stands twice is one

    def number(x: object) -> tuple[str, int] | None:
        what, among = ("weight", weights) if isinstance(x, Weight) else ("literal", literals)
        if not (isinstance(x, Weight) or is_array(x)):
            return None
        at = numbers.get(id(x))
        if at is None:
            numbers[id(x)] = at = what, len(among)
            among.append(x)  # type: ignore[arg-type] # the list of its kind, which mypy cannot pair
        return at

    file = io.BytesIO()
    made = pickler(file, protocol=pickle.HIGHEST_PROTOCOL)
    made.persistent_id = number
    made.dump(expression)
    structure = file.getvalue()
    return Portable(sha256(structure).hexdigest(), structure, tuple(literals), tuple(weights))


class _Unpickler(pickle.Unpickler):
    def __init__(self, structure: bytes, parts: dict[str, Sequence[object]]) -> None:
        super().__init__(io.BytesIO(structure))
        self.parts = parts

    def persistent_load(self, number: tuple[str, int]) -> object:
        what, at = number
        return self.parts[what][at]
