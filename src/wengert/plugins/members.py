"""Members: what the annotations in the body of a plugin declare, and what they mean.

Knows: annotations, how they are evaluated, type parameters of generic plugins, values in a class body.
Refuses to know: how an instance is made, and where an injected value comes from.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from inspect import formatannotation, get_annotations
from typing import Annotated, ClassVar, NoReturn, get_args, get_origin, get_type_hints

from wengert.errors import PluginError
from wengert.plugins.ranges import Range

_CLASS_VARIABLE = re.compile(r"(\w+\.)*ClassVar\b")


class Unset:
    """Stands in a class for a value that only its instances have."""

    __slots__ = ("injected",)

    def __init__(self, *, injected: bool) -> None:
        self.injected = injected

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise AttributeError(f"this member has a value in instances of {owner.__name__} only")


REQUIRED = Unset(injected=False)


@dataclass(frozen=True, slots=True)
class Member:
    """One annotation of one plugin."""

    name: str
    owner: type
    written: str  # the annotation, for messages
    hint: object  # the annotation evaluated; a `str` while a name in it has no value
    value: object  # an `Unset` where the class gives none
    ranges: tuple[Range, ...] = ()  # each of which its numbers have to be in

    @property
    def injected(self) -> bool:
        return isinstance(self.value, Unset) and self.value.injected

    @property
    def required(self) -> bool:
        return self.value is REQUIRED

    @property
    def is_number(self) -> bool:
        """Tell whether the annotation says `float` or `int`, alone or among others."""
        return any(hint in (float, int) for hint in (self.hint, *get_args(self.hint)))

    @property
    def belongs_to_class(self) -> bool:
        """Tell whether this is a `ClassVar`, which names a part or a rule and is no argument."""
        if isinstance(self.hint, str):
            return _CLASS_VARIABLE.match(self.hint) is not None
        return self.hint is ClassVar or get_origin(self.hint) is ClassVar

    def evaluated(self, names: Mapping[str, object]) -> Member:
        """With the annotation evaluated if it was not and now can be; `names` are the local ones."""
        if not isinstance(self.hint, str):
            return self
        hint, ranges = _evaluate(self.owner, self.hint, names)
        return replace(self, hint=hint, ranges=ranges)

    def __str__(self) -> str:
        return f"{self.owner.__name__}.{self.name}: {self.written}"


def declare(cls: type, names: Mapping[str, object]) -> dict[str, Member]:
    """The annotations in the body of `cls` itself; a member without a value becomes `REQUIRED` there.

    The placeholder matters: it hides an abstract property of the same name, which the member supplies.
    """
    declared: dict[str, Member] = {}
    for name, annotation in get_annotations(cls).items():
        value = vars(cls).get(name, REQUIRED)
        hint, ranges = _evaluate(cls, annotation, names)
        shown = hint if ranges else annotation  # a range says itself what it is
        written = shown if isinstance(shown, str) else formatannotation(shown)
        member = Member(name, cls, written, hint, value, ranges)
        declared[name] = member
        if member.belongs_to_class:
            continue
        if value is REQUIRED:
            type.__setattr__(cls, name, REQUIRED)
        elif type(value).__hash__ is None:
            raise PluginError(
                f"{cls.__name__}.{name} = {value!r} can be changed in place and would be shared by all "
                f"settings; give something immutable, or declare `{name}: Callable[[], {written}]`"
            )
    return declared


def local_names(cls: type) -> Mapping[str, object]:
    """The names visible where `cls` is being defined, for annotations of classes inside functions."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_globals.get("__name__") == cls.__module__ and frame.f_code.co_name != "__init_subclass__":
            return frame.f_locals
    return {}


def annotated(cls: type, names: Mapping[str, object]) -> Iterator[Member]:
    """All annotations of all plugins of `cls`, leftmost first, with the type arguments of generic plugins."""
    arguments = _type_arguments(cls)
    for owner in cls.__mro__:
        declared: Mapping[str, Member] = vars(owner).get("_declared", {})
        for member in declared.values():
            known = member.evaluated(names)
            yield replace(known, hint=_substitute(known.hint, arguments.get(owner, {})))


def _evaluate(
    owner: type, annotation: object, names: Mapping[str, object]
) -> tuple[object, tuple[Range, ...]]:
    """The type that an annotation says, and the ranges."""
    parameters = {parameter.__name__: parameter for parameter in getattr(owner, "__type_params__", ())}
    holder = type("holder", (), {"__annotations__": {"it": annotation}, "__module__": owner.__module__})
    try:
        hint = get_type_hints(holder, localns={**names, **parameters}, include_extras=True)["it"]
    except (
        NameError,
        AttributeError,
    ):  # imported for checkers only, or defined further down: it stays text, compared as text
        return annotation, ()
    if get_origin(hint) is not Annotated:
        return hint, ()
    return get_args(hint)[0], tuple(x for x in get_args(hint)[1:] if isinstance(x, Range))


def _type_arguments(cls: type) -> dict[type, dict[object, object]]:
    """For each generic class above `cls` what its type parameters stand for."""
    found: dict[type, dict[object, object]] = {}
    for owner in cls.__mro__:
        for base in vars(owner).get("__orig_bases__", ()):
            origin = get_origin(base)
            parameters: tuple[object, ...] = getattr(origin, "__parameters__", ())
            arguments = [_substitute(argument, found.get(owner, {})) for argument in get_args(base)]
            if isinstance(origin, type) and len(parameters) == len(arguments):
                found.setdefault(origin, dict(zip(parameters, arguments, strict=True)))
    return found


def _substitute(hint: object, arguments: Mapping[object, object]) -> object:
    if not arguments:
        return hint
    if hint in arguments:
        return arguments[hint]
    parameters: tuple[object, ...] = getattr(hint, "__parameters__", ())
    if isinstance(hint, type) or not parameters:
        return hint
    return hint[tuple(arguments.get(one, one) for one in parameters)]  # type: ignore[index]  # a generic alias
