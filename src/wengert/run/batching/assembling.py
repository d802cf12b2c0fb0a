"""Deltas of parts put together: a sum of arrays that are zero but for a slice each is one array, written in pieces.

Knows: that the deltas of the parts of a split are such arrays, so that four sums and five fills with zeros can be
left out, and each part may be computed where it belongs.
Refuses to know: where arrays lie.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from wengert.arrays import HOST
from wengert.run.batching.listing import Count, Slot, Step, by_result, slots_in

Key = tuple[slice, ...]


@dataclass(frozen=True, eq=False)
class Pieces:
    """The function of a step: an array of which `keys` are written, and the rest is zero."""

    keys: tuple[Key, ...]
    whole: bool  # the keys leave nothing out


def assembled(steps: Sequence[Step], wanted: Sequence[object]) -> list[Step]:
    """The steps with sums of parts as one step each, where the parts do not overlap."""
    uses: dict[Slot, int] = {}
    for slot in [s for x in wanted for s in slots_in(x)] + [
        s for step in steps for s in slots_in(step.arguments)
    ]:
        uses[slot] = uses.get(slot, 0) + 1
    made = by_result(steps)
    replaced: dict[Step, Step | None] = {}
    for step in reversed(steps):
        if step in replaced:
            continue
        leaves, inner = _leaves(step, made, uses)
        pieces = _pieces(leaves)
        if pieces is not None:
            values = tuple(leaf.arguments[3] for leaf in leaves)
            replaced |= dict.fromkeys(inner)
            replaced[step] = Step(pieces, values, {}, step.result, True)  # type: ignore[arg-type] # no function
    return [found for step in steps if (found := replaced.get(step, step)) is not None]


def _leaves(step: Step, made: Mapping[Slot, Step], uses: Mapping[Slot, int]) -> tuple[list[Step], list[Step]]:
    """The summands of a sum that nobody else needs, and the steps that it is made of."""
    leaves, inner, todo = [], [], [step]
    while todo:
        found = todo.pop()
        inner.append(found)
        parts = [made.get(x) for x in found.arguments if isinstance(x, Slot)]
        known = [x for x in parts if x is not None and uses[x.result] == 1]
        if found.function is operator.add and len(known) == len(found.arguments):
            todo += known
        else:
            leaves.append(found)
    return leaves, inner


def _pieces(leaves: Sequence[Step]) -> Pieces | None:
    """What leaves write, if all of them write slices of one axis of one shape."""
    if any(leaf.function is not HOST.add_at for leaf in leaves):
        return None
    shape = leaves[0].arguments[0]
    if not shape:
        return None
    keys = [_as_slices(leaf.arguments[2], shape) for leaf in leaves]
    known = [key for key in keys if key is not None]
    if len(known) < len(keys):
        return None
    axes = {axis for key in known for axis, part in enumerate(key) if part != slice(None)}
    if len(axes) > 1:
        return None
    (axis,) = axes or {0}
    size = shape[axis]
    if isinstance(size, Count):
        return Pieces((known[0],), True) if known == [(slice(None),) * len(shape)] else None
    spans = sorted(part.indices(size)[:2] for part in (key[axis] for key in known))
    if any(end > begin for (_, end), (begin, _) in pairwise(spans)):
        return None
    covered = sum(end - begin for begin, end in spans)
    return Pieces(tuple(known), covered == size)


def _as_slices(key: Any, shape: Sequence[Any]) -> Key | None:  # Any: whatever an array takes as an index
    """A key of slices without steps, one for each axis; None for any other."""
    parts = key if isinstance(key, tuple) else (key,)
    if not all(isinstance(part, slice) and part.step in (None, 1) for part in parts):
        return None
    parts = tuple(slice(None) if part == slice(0, n) else part for part, n in zip(parts, shape, strict=False))
    if any(part != slice(None) and isinstance(n, Count) for part, n in zip(parts, shape, strict=False)):
        return None
    return (*parts, *(slice(None),) * (len(shape) - len(parts)))
