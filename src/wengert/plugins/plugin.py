"""`Plugin`: settings as a class that inherits from every plugin they are made of.

Knows: members become keywords, injected members are filled, bodies run, then nothing changes any more.
Refuses to know: weights, optimizers, and every particular plugin.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import FrozenInstanceError
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, ClassVar, Self

from wengert.arrays import is_number
from wengert.errors import PluginError
from wengert.plugins.checks import check_call, check_complete, check_members, check_suppliers
from wengert.plugins.inject import inject, injected
from wengert.plugins.making import Maker
from wengert.plugins.members import Member, annotated, declare, local_names
from wengert.plugins.parts import check_order
from wengert.plugins.ranges import plain

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform  # the one of Python 3.11 does not name `frozen_default`
else:
    from typing import dataclass_transform


class _CallSignature:
    """Descriptor of a plugin class for `inspect.signature`; an instance that is callable has its own."""

    def __get__(self, instance: Plugin | None, owner: type[Plugin]) -> Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        return Signature([_parameter(member) for member in owner._members.values() if not member.injected])


def _parameter(member: Member) -> Parameter:
    default = Parameter.empty if member.required else member.value
    return Parameter(member.name, Parameter.KEYWORD_ONLY, default=default, annotation=member.hint)


@dataclass_transform(kw_only_default=True, frozen_default=True, eq_default=False, field_specifiers=(inject,))
class Plugin(Maker, ABC):
    """The base of all plugins; settings are a class over several: `class Settings(Adam, LearningRate): ...`.

    An annotated member is a keyword, required if it has no value; a function is a member like any other. A
    member `inject()` is filled by its type instead. What a plugin must have from others it inherits, or
    leaves open as an abstract property. `acts_before` names plugins that must stand to its right. Raises PluginError
    for what cannot be put together as written, and the ready ones for a number out of its range.

    A number of numpy becomes Python's where the annotation says `float` or `int`, so that it changes the element
    type of no step. Members are set first. Then comes each plugin once, bases first and right to left, so that it finds
    ready what it inherits: the ranges of its members are checked, and its `__post_init__` runs, which may still assign
    members. Then the instance is frozen.

    >>> class Rate(Plugin):
    ...     rate: float
    >>> class Decay(Plugin):
    ...     decay: float = 0.5
    >>> class Settings(Decay, Rate): ...
    >>> Settings(rate=0.1)
    Settings(rate=0.1, decay=0.5)
    >>> Settings(decay=0.1)
    Traceback (most recent call last):
    wengert.errors.PluginError: Settings misses rate: float; its keywords: rate: float, decay: float = 0.5
    """

    acts_before: ClassVar[tuple[type[Plugin], ...]] = ()

    __signature__ = _CallSignature()
    _declared: ClassVar[Mapping[str, Member]]  # of the class itself, not of its bases
    _members: ClassVar[Mapping[str, Member]] = {}  # of all its plugins, in the order of the keywords
    _body: ClassVar[Callable[[Plugin], None] | None]  # the class's own `__post_init__`

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in vars(cls):
            raise PluginError(
                f"{cls.__name__} defines __init__, which would take the keywords of the other plugins away; "
                "declare members, and compute in __post_init__"
            )
        names = local_names(cls)
        cls._declared = declare(cls, names)
        everything = list(annotated(cls, names))
        check_members(cls, Plugin, everything)
        check_suppliers(cls, Plugin)
        check_order(cls)
        cls._members = _merged(cls, everything)
        cls._body = vars(cls).get("__post_init__")
        if cls._body is not None:
            # Taken out of the class, so that `super().__post_init__()`, written by habit, repeats nothing.
            type.__delattr__(cls, "__post_init__")

    def _fill(self, positional: Sequence[object], keywords: Mapping[str, object]) -> None:
        cls = type(self)
        check_call(cls, cls._members, positional, keywords)
        values = {
            name: keywords.get(name, member.value)
            for name, member in cls._members.items()
            if not member.injected
        }
        values |= injected(cls, cls._members, values)
        values |= {
            name: plain(x) for name, x in values.items() if is_number(x) and cls._members[name].is_number
        }
        vars(self).update(values)
        for owner in reversed(cls.__mro__):
            declared: Mapping[str, Member] = vars(owner).get("_declared", {})
            for member in declared.values():
                for numbers in member.ranges:
                    numbers.check(self, member.name)
            body: Callable[[Plugin], None] | None = vars(owner).get("_body")
            if body is not None:
                body(self)
        vars(self)["_frozen"] = True

    def __post_init__(self) -> None:  # most plugins compute nothing
        """Computes from members when all are set; needs no call to `super()`, each plugin's own runs once."""

    def __setstate__(self, state: dict[str, object]) -> None:
        """Take up what was pickled; a plugin that has more to do calls `super()`, as there may be others."""
        vars(self).update(state)

    # Hidden from checkers: for a class without members mypy would take this `__init__` for its signature, and
    # pyrefly this `__new__` for that of any class passed as a function; a visible `__setattr__` lets mypy
    # accept assignments to names that do not exist.
    if not TYPE_CHECKING:

        def __new__(cls, *positional: object, **keywords: object) -> Self:
            check_complete(cls, cls.__abstractmethods__)
            return super().__new__(cls)

        def __init__(self, /, *positional: object, **keywords: object) -> None:
            self._fill(positional, keywords)

        def __setattr__(self, name: str, value: object) -> None:
            self._refuse_change(name)
            super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            self._refuse_change(name)
            super().__delattr__(name)

    def _refuse_change(self, name: str) -> None:
        if "_frozen" in vars(self):
            raise FrozenInstanceError(
                f"{type(self).__name__} is frozen: {name} cannot change after it is made; make another "
                f"{type(self).__name__}, or compute {name} in __post_init__"
            )

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}={getattr(self, name)!r}" for name, member in self._members.items() if not member.injected
        )
        return f"{type(self).__name__}({shown})"


def _merged(cls: type, everything: Sequence[Member]) -> dict[str, Member]:
    """A name has the place of the rightmost plugin that declares it and the value of the leftmost."""
    merged: dict[str, Member] = {}
    for owner in reversed(cls.__mro__):
        for member in everything:
            if member.owner is owner and not member.belongs_to_class:
                merged[member.name] = member
    return merged
