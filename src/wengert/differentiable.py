"""The heart: what a differentiable expression is, for types that Wengert knows and for types it does not.

Knows: `Tape`, the protocol `Differentiable`, the type class `DeepLearning` and where its instances are kept.
Refuses to know: numbers, arrays, graphs, and who runs anything.

In one sentence each: a *tape* is a value together with a place to send its derivative; an expression is
*differentiable* if it has a `Do` that makes its tape; a type is in the type class *DeepLearning* if somebody
has said, for a class that may be nobody's own, how its values do.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from importlib import import_module
from types import ModuleType
from typing import Any, Generic, Protocol, get_type_hints

from wengert.control import Do, UnitContinuation
from wengert.errors import NotDifferentiableError
from wengert.generics import TypeVar
from wengert.later import later

X_contra = TypeVar("X_contra", contravariant=True)
Data_co = TypeVar("Data_co", covariant=True, default=Any)
Delta_contra = TypeVar("Delta_contra", contravariant=True, default=Any)


@dataclass(frozen=True, slots=True)
class Tape(Generic[Data_co, Delta_contra]):
    """A value and where its derivative goes.

    `backward(delta)` performs nothing. Running the continuation it returns hands `delta`, which is still a
    `Do` and runs only if somebody needs it, to whatever made the value.

    >>> Tape(3.0, lambda delta: UnitContinuation.now(None)).data
    3.0

    Source: B. Yang et al., "Monadic Deep Learning", 2023, listing 27.
    """

    data: Data_co
    backward: Callable[[Do[Delta_contra]], UnitContinuation[None]]


class Differentiable(Protocol[Data_co, Delta_contra]):
    """Protocol of operands of functions of expressions: anything with a `Do` of its tape."""

    @property
    def forward(self) -> Do[Tape[Data_co, Delta_contra]]: ...


class DeepLearning(Protocol[X_contra, Data_co, Delta_contra]):
    """A witness that values of `X` are differentiable: the type class. Source: as of `Tape`."""

    def forward(self, x: X_contra, /) -> Do[Tape[Data_co, Delta_contra]]: ...


class Implementation:
    """Conversion of the values of one registered class to tapes, and their declared Data."""

    __slots__ = ("data", "rule")

    # Any: one table holds every registered type
    def __init__(self, rule: Callable[[Any], Do[Tape[Any, Any]]], data: object = Any) -> None:
        self.rule = rule
        self.data = data


@singledispatch
def implementation(x: object) -> Implementation | None:
    """The registered implementation for the class of `x`, most specific first; None where there is none."""
    return next((made for accepts, made in _structural if accepts(x)), None)


_structural: list[tuple[Callable[[object], bool], Implementation]] = []  # for what no single class describes


def enrol(cls: type[object], rule: Callable[[Any], Do[Tape[Any, Any]]]) -> Implementation:
    """Enter `rule` for `cls` in the table, with the Data that its annotation states."""
    made = Implementation(rule, declared_data(rule))
    implementation.register(cls, lambda x: made)
    return made


def registered(x: object) -> bool:
    """Tell whether the class of `x`, or a base of it, is registered."""
    return implementation.dispatch(type(x)) is not implementation.dispatch(object)


def enrol_where(accepts: Callable[[object], bool], rule: Callable[[Any], Do[Tape[Any, Any]]]) -> None:
    """Enter `rule` for all values that `accepts` is true of and that no class is registered for."""
    _structural.append((accepts, Implementation(rule)))


def forward(x: object) -> Do[Tape[Any, Any]]:
    """The `Do` of the tape of any differentiable value; `NotDifferentiableError` says what to register."""
    found = implementation(x)
    if found is not None:
        return found.rule(x)
    if hasattr(type(x), "forward"):
        made: Do[Tape[Any, Any]] = x.forward  # type: ignore[attr-defined] # a Differentiable, by structure
        return made
    raise NotDifferentiableError(refusal(x))


def refusal(x: object) -> str:
    """Advice on what to write for a type that nobody has registered."""
    name = type(x).__name__
    return (
        f"{name} is not differentiable: no implementation is registered for it, got {x!r:.60}; write\n"
        f"    @wengert.register({name})\n"
        f"    def forward(x: {name}) -> Do[Tape[Data, Delta]]: ..."
    )


def declared_data(function: Callable[..., object]) -> object:
    """The `Data` in a return annotation `Do[Tape[Data, Delta]]`, `Any` where it is not stated."""
    try:
        hint = get_type_hints(inspect.unwrap(function)).get("return", Any)
        return hint.__args__[0].__args__[0]
    except (NameError, AttributeError, IndexError, TypeError):
        return Any  # an annotation that is missing or names what only a type checker sees states nothing


class _ModuleAndDecorator(ModuleType):
    """This module, which has the name of a decorator, and is it where it is called."""

    __call__ = staticmethod(later("wengert.run", "differentiable"))  # which stands floors above

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        """By its name: code of a script that names the decorator is sent to other processes with this module."""
        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = _ModuleAndDecorator
