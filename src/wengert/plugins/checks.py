"""Errors of plugins that do not fit together, and of settings that are called wrongly.

Knows: members, abstract members and method resolution order.
Refuses to know: how an instance is made, and what any plugin is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from wengert.errors import PluginError
from wengert.plugins.members import Member
from wengert.plugins.parts import reordered

# PyTorch's keywords: by another name here, or something else
_RENAMED: Final[Mapping[str, str]] = {"lr": "learning_rate"}
_MEANT: Final[Mapping[str, str]] = {  # where a class has what the name may mean
    "alpha": "rho",
    "beta": "momentum",
    "clip": "max_norm",
    "decay": "weight_decay",
    "weight_decay": "l2",
}
_ELSEWHERE: Final[Mapping[str, str]] = {
    "amsgrad": "inherit AMSGrad in place of Adam",
    "betas": "write beta1= and beta2=",
    "nesterov": "inherit Nesterov in place of Momentum",
}
_OF_PYTORCH: Final = "; PyTorch's optimizers but AdamW mean L2Regularization and l2= by it"


def check_members(cls: type, root: type, declared: Iterable[Member]) -> None:
    """One name must be one member, of one type, wherever it is declared."""
    by_name: dict[str, Member] = {}
    for member in declared:
        first = by_name.setdefault(member.name, member)
        open_text = isinstance(first.hint, str) or isinstance(member.hint, str)
        if first.hint != member.hint and not (open_text and first.written == member.written):
            raise PluginError(
                f"{cls.__name__}: one member with two types, {first} and {member}; give both the same "
                "type, or one of them another name"
            )
    for name, member in by_name.items():
        if not member.belongs_to_class:
            _check_hidden(cls, root, name, member)


def _check_hidden(cls: type, root: type, name: str, member: Member) -> None:
    seen = False
    for owner in cls.__mro__:
        if name not in vars(owner):
            continue
        if name in vars(owner).get("_declared", {}):
            seen = True
        elif is_abstract(vars(owner)[name]):
            continue  # where it hides the member, the class stays abstract
        elif not seen or issubclass(owner, root):
            raise PluginError(
                f"{cls.__name__}: {member} is a member, and {owner.__name__}.{name} is something else; "
                f"write `{name}: {member.written} = ...` for another value, or rename one of them"
            )


def check_suppliers(cls: type, root: type) -> None:
    """An abstract member must not be supplied by two plugins that do not know each other."""
    for name, owner in abstract_members(cls).items():
        # by __mro__, as `issubclass` would ask `cls` too, which answers as its first base while it is being made
        suppliers = [plugin for plugin in cls.__mro__ if root in plugin.__mro__ and _supplies(plugin, name)]
        rivals = [
            one for one in suppliers if not any(one in two.__mro__ for two in suppliers if two is not one)
        ]
        if len(rivals) > 1:
            names = " and ".join(rival.__name__ for rival in rivals)
            raise PluginError(
                f"{cls.__name__}: {names} supply {name}, which {owner.__name__} declares; keep one of them"
            )


def check_complete(cls: type, missing: Iterable[str]) -> None:
    """Settings can be made only if every abstract member is supplied."""
    declared = abstract_members(cls)
    for name in sorted(missing):
        owner = declared[name]
        hidden = [plugin for plugin in cls.__mro__ if _supplies(plugin, name)]
        known = sorted(plugin.__name__ for plugin in _descendants(owner) if _supplies(plugin, name))
        if hidden:
            has = hidden[0].__name__
            advice = f"{has} has one but stands right of it: let {has} inherit {owner.__name__}"
        elif known:
            advice = f"add {' or '.join(known)}"
        else:
            advice = f"define {name} in a plugin that inherits {owner.__name__}"
        raise PluginError(
            f"{cls.__name__} cannot be made: no plugin supplies {name}, which {owner.__name__} declares; "
            f"{advice}"
        )


def is_abstract(value: object) -> bool:
    return bool(getattr(value, "__isabstractmethod__", False))


def abstract_members(cls: type) -> dict[str, type]:
    """The names that some class above `cls` leaves open, with the class."""
    return {name: owner for owner in cls.__mro__ for name, value in vars(owner).items() if is_abstract(value)}


def _supplies(plugin: type, name: str) -> bool:
    return name in vars(plugin) and not is_abstract(vars(plugin)[name])


def _descendants(cls: type) -> set[type]:
    found: set[type] = set()
    waiting = [cls]
    while waiting:
        children: list[type] = waiting.pop().__subclasses__()
        for child in children:
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


def check_call(
    cls: type, members: Mapping[str, Member], positional: Sequence[object], keywords: Mapping[str, object]
) -> None:
    """`PluginError`, a kind of `TypeError`, unless `keywords` are what `members` ask for."""
    known = {name: member for name, member in members.items() if not member.injected}
    listed = ", ".join(keyword(member) for member in known.values()) or "none"
    if positional:
        values = ", ".join(map(repr, positional))
        raise PluginError(
            f"{cls.__name__} takes keywords only and got {values} without a keyword; its keywords: {listed}"
        )
    problems = [
        f"misses {keyword(one)}" for one in known.values() if one.required and one.name not in keywords
    ]
    for name in sorted(keywords.keys() - known.keys()):
        if name in members:
            problems.append(f"got {name}, which is injected and never a keyword")
        else:
            problems.append(f"got unknown {name}{_hint(cls, name, known)}")
    if problems:
        raise PluginError(f"{cls.__name__} {' and '.join(problems)}; its keywords: {listed}")


def _hint(cls: type, name: str, known: Iterable[str]) -> str:
    """Advice in parentheses for an unknown keyword; nothing where there is none."""
    if name in _ELSEWHERE:
        return f" ({_ELSEWHERE[name]})"
    meant = _MEANT.get(name)
    if meant is not None and meant in known:
        return f" (did you mean {meant}?)"
    here = _RENAMED.get(name, name)
    close = get_close_matches(here, known, n=1)
    if close:
        return f" (did you mean {close[0]}?)"
    told = (f", which is {here}" if here != name else "") + _of_another(cls, here)
    return f"{told}{_OF_PYTORCH}" if name == "weight_decay" and told else told


def _of_another(cls: type, name: str) -> str:
    """Whose keyword it is, if another plugin has it: settings are put together by inheritance."""
    base = next(c for c in reversed(cls.__mro__) if "_declared" in getattr(c, "__annotations__", ()))
    known = [base]
    for each in known:
        known.extend(each.__subclasses__())
    owners = [c for c in known if name in getattr(c, "_declared", ()) and c.__module__.startswith("wengert.")]
    if not owners:
        return ""
    owner = min(owners, key=lambda c: c.__name__.lower() != name)  # `Momentum` before `Muon`
    for name in abstract_members(owner):
        if all(any(_supplies(plugin, name) for plugin in rival.__mro__) for rival in (cls, owner)):
            return f" (a keyword of {owner.__name__}, which supplies {name} as {cls.__name__} does: keep one of them)"
    both = ", ".join(plugin.__name__ for plugin in reordered([owner, cls]) or [])
    return f" (a keyword of {owner.__name__}: write class Settings({both}): ... and make Settings(...))"


def keyword(member: Member) -> str:
    """The member as it stands in a signature."""
    value = "" if member.required else f" = {member.value!r}"
    return f"{member.name}: {member.written}{value}"
