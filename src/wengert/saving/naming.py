"""The weights of whatever is to be saved, each under one name.

Knows: that weights come with names of their own or at places in a model, and which names a file can have.
Refuses to know: files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from wengert.errors import CheckpointError
from wengert.graph import Weight
from wengert.graph.operand import shown
from wengert.models import former_weights, weights_by_place
from wengert.models import weights_and_buffers as weights_at
from wengert.saving.manifest import STATES, brief
from wengert.site import user_position

_KEYWORDS: Final = {
    "cases": "case_blocks",
    "some": "some_case",
    "children": "named_children",
    "element": "elem_block",
    "step": "combine_block",
    "function": "combine_block",
    "start": "start_block",
}
_KEYWORD: Final = re.compile(rf"(?<=\b_arguments\.)({'|'.join(_KEYWORDS)})(?=\.|$)")


def weights_by_name(given: object) -> dict[str, Weight]:
    """Weights given to `save` or `load`, by name: a model or mapping by place, an iterable by their names."""
    if isinstance(given, Iterable) and not isinstance(given, Mapping | str | Weight):
        members = list(given)
        found: Mapping[str, Weight] = _by_own_names(members) if _are_weights(members) else weights_at(members)
    else:
        found = weights_at(given)
    if not found:
        raise CheckpointError(
            f"there is no weight in {shown(given)}; give a dictionary of weights, an iterable of named weights, or a "
            f"model that has weights in its attributes\n  at {user_position()}"
        )
    for name, weight in found.items():
        _check(name, weight)
    return dict(found)


def former_names(given: object, names: Iterable[str]) -> dict[str, Weight]:
    """As `weights_by_name`, by the names in files of earlier versions; none where they are the names of today.

    `names` are those of a file, which may be from before some keywords of `wengert.fold` got their present names.
    """
    if isinstance(given, Iterable) and not isinstance(given, Mapping | str | Weight):
        given = [*given]
        if _are_weights(given):
            return {}
    by_place = weights_by_place(given)
    if not by_place.keys().isdisjoint(names := [*names]):
        return by_place
    then = {_KEYWORD.sub(lambda found: _KEYWORDS[found[0]], name): name for name in names}
    return {then.get(place, place): weight for place, weight in former_weights(given).items()}


def _are_weights(members: list[object]) -> bool:
    return all(isinstance(member, Weight) for member in members)


def _by_own_names(members: list[object]) -> dict[str, Weight]:
    found: dict[str, Weight] = {}
    for weight in members:
        assert isinstance(weight, Weight), "only weights come here"
        if weight._name is None:
            raise CheckpointError(
                f"the weight made at {weight.site} has no name, and a place in a source file is none that lasts; "
                'make it with name="...", or give a dictionary of weights'
            )
        other = found.setdefault(weight._name, weight)
        if other is not weight:
            raise CheckpointError(
                f"two weights are named {brief(weight.name)}: one made at {other.site}, one at {weight.site}; give one "
                "of them another `name=`, or give a dictionary of weights"
            )
    return found


def _check(name: str, weight: Weight) -> None:
    if not name or name.startswith((STATES, "__metadata__")) or not name.isprintable():
        raise CheckpointError(
            f"a file of weights cannot have the name {brief(name)}, that of the weight made at {weight.site}; names "
            f"are printable, not empty, and begin neither with {STATES!r} nor with '__metadata__'"
        )
