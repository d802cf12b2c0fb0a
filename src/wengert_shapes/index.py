"""The shape of an indexed array: integers, slices, `...`, None and lists or arrays of integers.

Knows: what numpy does with each part of a key, and numpy's words where it refuses.
Refuses to know: mypy, and how the parts were written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from wengert_shapes.algebra import ONE, number
from wengert_shapes.rules import Misfit, Shape, Size, text


class At(NamedTuple):
    """One place of an axis; None where only the run knows it."""

    place: int | None


class Cut(NamedTuple):
    """A slice; `bounds` is None where one of them is not a number that the program states."""

    bounds: slice | None


class Gather(NamedTuple):
    """An array of integers of a shape that may be unknown."""

    shape: Shape | None


class New:
    """None: a new axis of size 1."""

    __slots__ = ()


class Rest:
    """`...`: as many whole axes as are left."""

    __slots__ = ()


Part: TypeAlias = At | Cut | Gather | New | Rest


def indexed(shape: Shape, parts: Sequence[Part]) -> Shape | None:
    """The shape of `x[parts]`; None where it depends on what is not known."""
    wanted = sum(not isinstance(p, New | Rest) for p in parts)
    if wanted > len(shape):
        raise Misfit(
            f"cannot index shape {text(shape)}: too many indices: "
            f"the array has {len(shape)} axes, {wanted} were indexed"
        )
    if sum(isinstance(p, Rest) for p in parts) > 1:
        raise Misfit(f"cannot index shape {text(shape)}: an index can only have a single ellipsis ('...')")
    full = _filled(parts, len(shape) - wanted)
    result: list[Size] = []
    axis = 0
    joined: list[int] = []  # where in the result each of the arrays stands, and the integers that join them
    for part in full:
        if isinstance(part, At | Gather):
            joined.append(len(result))
        if isinstance(part, New):
            result.append(number(1))
        elif not isinstance(part, Rest):
            result += _taken(shape, axis, part)
            axis += 1
    arrays = [p.shape for p in full if isinstance(p, Gather)]
    if not arrays:
        return tuple(result)
    joint = _joint(shape, arrays)
    if joint is None:
        return None
    # numpy puts the joint axes where the arrays are, or in front where something parts them
    at = joined[0] if _together(full) else 0
    return (*result[:at], *joint, *result[at:])


def _together(parts: Sequence[Part]) -> bool:
    """Tell whether the arrays and integers of a key stand side by side."""
    places = [i for i, part in enumerate(parts) if isinstance(part, At | Gather)]
    return places[-1] - places[0] == len(places) - 1


def _joint(shape: Shape, arrays: Sequence[Shape | None]) -> Shape | None:
    """The shape that index arrays have together; None where the rank of one is unknown."""
    known = [a for a in arrays if a is not None]
    if len(known) != len(arrays):
        return None
    rank = max(map(len, known))
    joint: list[Size] = []
    for sizes in zip(*((number(1),) * (rank - len(a)) + a for a in known), strict=True):
        wanted = list(dict.fromkeys(n for n in sizes if n is not None and n != ONE))
        if len(wanted) > 1:
            raise Misfit(
                f"cannot index shape {text(shape)}: shape mismatch: indexing arrays could not be "
                f"broadcast together with shapes {' '.join(map(text, known))}"
            )
        joint.append(wanted[0] if wanted else None if None in sizes else ONE)
    return tuple(joint)


def _filled(parts: Sequence[Part], missing: int) -> list[Part]:
    """The parts with the axes that nobody names put where `...` is, or at the end."""
    whole: list[Part] = [Cut(slice(None))] * missing
    for i, part in enumerate(parts):
        if isinstance(part, Rest):
            return [*parts[:i], *(whole or [part]), *parts[i + 1 :]]
    return [*parts, *whole]


def _taken(shape: Shape, axis: int, part: At | Cut | Gather) -> Shape:
    """Axes that one part of a key leaves of one axis."""
    size = shape[axis]
    length = None if size is None else size.value
    if isinstance(part, At):
        if part.place is not None and length is not None and not -length <= part.place < length:
            raise Misfit(
                f"cannot index shape {text(shape)}: "
                f"index {part.place} is out of bounds for axis {axis} with size {length}"
            )
        return ()
    if isinstance(part, Cut):
        if part.bounds == slice(None):
            return (size,)
        if part.bounds is None or length is None or part.bounds.step == 0:
            return (None,)
        places = range(*part.bounds.indices(length))
        # `len` refuses what is longer than an address, and a program may state any number
        return (number((places[-1] - places[0]) // places.step + 1 if places else 0),)
    return ()
