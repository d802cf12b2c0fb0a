"""Parts: one class out of what every plugin adds to a weight, an optimizer or a layer; and who acts first.

Knows: method resolution order, which is the order in which parts hand a value to `super()`.
Refuses to know: what a part does, and which parts there are; an attribute's name says which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import RLock
from types import new_class
from typing import TypeVar, cast

from wengert.errors import PluginError

A = TypeVar("A")

_one_at_a_time = RLock()  # two threads must get one class; a part's `__init_subclass__` may ask again


def merged_part(plugin_class: type, attribute: str, base: type[A]) -> type[A]:
    """One class of all parts that the plugins of `plugin_class` name by the class variable `attribute`.

    Its bases are the parts, leftmost plugin first, each once, and `base` at the end; it is made once for a
    plugin class. Without any part it is `base`. `PluginError` if no order of methods fits all parts.

    >>> class Hello:
    ...     def words(self) -> list[str]:
    ...         return ["hello"]
    >>> class Loud(Hello):
    ...     def words(self) -> list[str]:
    ...         return [word.upper() for word in super().words()]
    >>> class Polite(Hello):
    ...     def words(self) -> list[str]:
    ...         return [*super().words(), "please"]
    >>> class Left:
    ...     speech = Loud
    >>> class Right:
    ...     speech = Polite
    >>> class Both(Left, Right): ...
    >>> merged_part(Both, "speech", Hello)().words()
    ['HELLO', 'PLEASE']
    """
    with _one_at_a_time:
        made: dict[tuple[str, type], type] | None = vars(plugin_class).get("_merged_parts")
        if made is None:
            # On the class: parts may refer to their plugin, and a table here would keep both alive.
            made = {}
            type.__setattr__(plugin_class, "_merged_parts", made)
        key = (attribute, base)
        if key not in made:
            made[key] = _merge(plugin_class, attribute, base)
        return cast("type[A]", made[key])


def _merge(plugin_class: type, attribute: str, base: type) -> type:
    found: dict[type, type] = {}  # part -> the leftmost plugin that names it
    for owner in plugin_class.__mro__:
        part: object = getattr(owner, attribute) if attribute in vars(owner) else None
        if part is not None:
            if not isinstance(part, type):
                raise PluginError(
                    f"{owner.__name__}.{attribute} must be a class, a part of {plugin_class.__name__}; "
                    f"it is {part!r}"
                )
            found.setdefault(part, owner)
    parts = [part for part in found if part is not base]
    if not parts:
        return base
    name = f"{plugin_class.__name__}_{attribute}"
    namespace = {
        "__module__": plugin_class.__module__,
        "__doc__": f"The {attribute} of {plugin_class.__name__}: {', '.join(p.__name__ for p in parts)}.",
        "__slots__": (),  # adds nothing to what the parts declare
    }
    try:
        return new_class(name, (*parts, base), {}, lambda body: body.update(namespace))
    except TypeError as error:
        names = ", ".join(f"{part.__name__} of {found[part].__name__}" for part in parts)
        raise PluginError(
            f"{plugin_class.__name__}: the {attribute} parts {names} (and {base.__name__}) cannot be one "
            f"class; {_remedy(parts, found) or error}"
        ) from error


def _remedy(parts: Sequence[type], plugin_of: dict[type, type]) -> str:
    for place, left in enumerate(parts):
        for right in parts[place + 1 :]:
            if issubclass(right, left):
                return (
                    f"{right.__name__} extends {left.__name__}, so put {plugin_of[right].__name__} "
                    f"left of {plugin_of[left].__name__}"
                )
    return ""


def check_order(plugin_class: type) -> None:
    """`PluginError` if a plugin stands right of one that it declares to act before (`acts_before`)."""
    order = plugin_class.__mro__
    for first, then in _rules(order):
        if then in order and order.index(then) < order.index(first):
            bases = [base for base in plugin_class.__bases__ if hasattr(base, "acts_before")]
            right = reordered(bases)
            advice = (
                f"write `class {plugin_class.__name__}({', '.join(base.__name__ for base in right)})`"
                if right
                else "no order of its bases does that"
            )
            raise PluginError(
                f"{plugin_class.__name__}: {then.__name__} stands left of {first.__name__}, so it would act "
                f"first; {first.__name__} must act before {then.__name__}: {advice}"
            )


def _rules(order: Sequence[type]) -> Iterator[tuple[type, type]]:
    for owner in order:
        for then in vars(owner).get("acts_before", ()):
            yield owner, then


def reordered(bases: Sequence[type]) -> list[type] | None:
    """`bases` with as few changes as the rules allow; `None` if the rules contradict each other."""
    waiting, done = list(bases), list[type]()
    while waiting:
        free = [
            base
            for base in waiting
            if not any(_before(other, base) for other in waiting if other is not base)
        ]
        if not free:
            return None
        done.append(free[0])
        waiting.remove(free[0])
    return done


def _before(left: type, right: type) -> bool:
    return any(then in right.__mro__ and then not in left.__mro__ for _, then in _rules(left.__mro__))
