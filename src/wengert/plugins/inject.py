"""`inject()`: members that are filled by their type; `Factory`: a constructor as a value, with its whole signature.

Knows: the three places where a value may come from: a member of another plugin, the factory of a merged
part, a provider.
Refuses to know: when an instance is made, and what its plugins do with the value.
"""

from __future__ import annotations

import collections.abc
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Literal, ParamSpec, TypeVar, get_args, get_origin

from wengert.errors import PluginError
from wengert.plugins.members import Member, Unset, annotated
from wengert.plugins.parts import merged_part

A = TypeVar("A")

_providers: dict[
    type, list[Callable[[], object]]
] = {}  # filled by importing modules, as `register`'s table is


# Any: a field specifier is assigned to members of every type; the member's own type holds.
def inject(*, init: Literal[False] = False) -> Any:
    """The value of a member that is never a keyword: it is filled by the member's type.

    Exactly one of these must fit: a member of another plugin; where the type is `Factory[..., X]` or
    `Callable[..., X]`, the merged part that is an `X`; what `provide` has given for the type. Raises PluginError
    where none does, or several.

    >>> from wengert.plugins import Plugin
    >>> class Rate(Plugin):
    ...     rate: float
    >>> class Half(Plugin):
    ...     whole: float = inject()
    ...     def half(self) -> float:
    ...         return self.whole / 2
    >>> class Settings(Half, Rate): ...
    >>> Settings(rate=1.0).half()
    0.5
    """
    return Unset(injected=True)


def provide(cls: type[A]) -> Callable[[Callable[[], A]], Callable[[], A]]:
    """Decorator: the function is called for each instance that has a member `inject()` of type `cls`.

    >>> class Clock: ...
    >>> @provide(Clock)
    ... def clock() -> Clock:
    ...     return Clock()
    """
    if not isinstance(cls, type):
        raise PluginError(f"provide() takes a class, not {cls!r}")

    def register(function: Callable[[], A]) -> Callable[[], A]:
        known = _providers.setdefault(cls, [])
        # A module that is loaded again replaces its own provider instead of competing with it.
        known[:] = [other for other in known if _place(other) != _place(function)]
        known.append(function)
        return function

    return register


def injected(cls: type, members: Mapping[str, Member], values: Mapping[str, object]) -> dict[str, object]:
    """The values of the members of `cls` that are injected; `values` are those of the others.

    Every member is resolved before the first provider is called.
    """
    sources = {
        name: _only_source(cls, member, members, values)
        for name, member in members.items()
        if member.injected
    }
    return {name: source() for name, source in sources.items()}


def _only_source(
    cls: type, wanted: Member, members: Mapping[str, Member], values: Mapping[str, object]
) -> Callable[[], object]:
    wanted = _settled(cls, wanted)
    found = [
        *_from_members(cls, wanted, members, values),
        *_from_parts(cls, wanted),
        *_from_providers(wanted),
    ]
    if len(found) == 1:
        return found[0][1]
    what = f"{cls.__name__}: {wanted} is injected, and "
    if found:
        raise PluginError(
            f"{what}{len(found)} things fit: {', '.join(name for name, _ in found)}; leave one, or give them "
            "types of their own"
        )
    raise PluginError(
        f"{what}nothing fits: no member of another plugin, no part and no provider is a {wanted.written}; "
        f"add a plugin that has one, or `@provide({wanted.written})`"
    )


_Source = tuple[str, Callable[[], object]]  # its name for messages, and what gives the value


def _from_members(
    cls: type, wanted: Member, members: Mapping[str, Member], values: Mapping[str, object]
) -> Iterator[_Source]:
    for name, value in values.items():
        if name not in vars(wanted.owner) and _fits(_settled(cls, members[name]).hint, wanted.hint):
            yield str(members[name]), _always(value)


def _from_parts(cls: type, wanted: Member) -> Iterator[_Source]:
    if get_origin(wanted.hint) not in (Factory, collections.abc.Callable):
        return
    made = get_args(wanted.hint)[-1]
    bases: dict[str, type] = {}  # the rightmost plugin declares the most general class
    for member in annotated(cls, {}):
        if member.belongs_to_class:
            for kind in get_args(_settled(cls, member).hint):  # of ClassVar[type[X]]
                for base in get_args(kind) if get_origin(kind) is type else ():
                    bases[member.name] = base
    for attribute, base in bases.items():
        if isinstance(made, type) and made is not object:
            part: type = merged_part(cls, attribute, base)
            if made in part.__mro__:
                yield f"the factory of the merged {attribute}", _always(Factory(part))


def _from_providers(wanted: Member) -> Iterator[_Source]:
    for cls, functions in _providers.items():
        if _fits(cls, wanted.hint):
            for function in functions:
                yield f"provider {_place(function)}", function


def _always(value: object) -> Callable[[], object]:
    return lambda: value


def _fits(given: object, wanted: object) -> bool:
    """Tell whether a type is the wanted one or, for classes, inherits from it by name."""
    return given == wanted or (isinstance(given, type) and wanted is not object and wanted in given.__mro__)


def _settled(cls: type, member: Member) -> Member:
    evaluated = member.evaluated({})
    if isinstance(evaluated.hint, str):
        raise PluginError(
            f"{cls.__name__}: the type of {member} is needed to fill what is injected, and a name in it is "
            f"not defined in {member.owner.__module__} when the program runs; import it outside TYPE_CHECKING"
        )
    return evaluated


def _place(function: Callable[[], object]) -> str:
    return f"{function.__module__}.{getattr(function, '__qualname__', repr(function))}"


P = ParamSpec("P")
A_co = TypeVar("A_co", covariant=True)


class Factory(Generic[P, A_co]):
    """Makes instances: `Factory(S).new_instance(...)` has the arguments and the type of `S(...)`.

    >>> Factory(complex).new_instance(1.0, imag=2.0)
    (1+2j)
    >>> Factory(complex)
    Factory(complex)
    """

    __slots__ = ("make",)

    def __init__(self, make: Callable[P, A_co]) -> None:
        self.make = make

    def new_instance(self, *args: P.args, **kwargs: P.kwargs) -> A_co:
        """A new instance."""
        return self.make(*args, **kwargs)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> A_co:
        """Call `new_instance`, so that a factory goes where a function is wanted."""
        return self.make(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Factory({getattr(self.make, '__qualname__', self.make)})"
