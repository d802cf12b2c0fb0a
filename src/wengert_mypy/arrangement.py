"""The shape rules of `split`, `roll` and `take_along_axis`, in the words of the run time.

Knows: how an axis is cut, and that an unknown dimension agrees with every other one.
Refuses to know: mypy, and how the arguments are written.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert_mypy.algebra import ONE, divides, floor_divide
from wengert_mypy.index import Cut, indexed
from wengert_mypy.rules import Misfit, Shape, Size, axes_in, axis_in, differ, size_text, text


def split_equally(shape: Shape, sections: Size, axis: int) -> Shape:
    """The shape of each of several equal parts."""
    if sections is not None and sections.value is not None and sections.value < 1:
        raise Misfit(f"cannot split into {sections} parts")
    at = axis_in(axis, len(shape), shape)
    return (*shape[:at], _part(shape, at, sections), *shape[at + 1 :])


def _part(shape: Shape, at: int, sections: Size) -> Size:
    size = shape[at]
    if size is None or sections is None:
        return None
    exact = divides(size, sections)
    if exact is None and size.value is not None and sections.value is not None:
        raise Misfit(
            f"cannot split axis {at} of shape {text(shape)} into {sections} equal parts: "
            f"{size} is no multiple of {sections}"
        )
    return floor_divide(size, sections) if exact is None else exact


def split_at(shape: Shape, cuts: Sequence[int | None], axis: int) -> list[Shape | None]:
    """The shapes of the parts before, between and behind indices, of which some may be unknown."""
    at = axis_in(axis, len(shape), shape)
    places = [
        None if start is None or stop is None else slice(start or None, stop)
        for start, stop in zip([0, *cuts], cuts, strict=False)
    ]
    last = cuts[-1] if cuts else 0
    places.append(None if last is None else slice(last or None, None))
    return [indexed(shape, [*(Cut(slice(None)),) * at, Cut(place)]) for place in places]


def rolled(shape: Shape, shifts: Sequence[int | None] | None, axes: Sequence[int] | None) -> Shape:
    """`roll`: one shift for each axis; None stands for one number."""
    wanted = 1 if axes is None else len(axes)
    if shifts is not None and len(shifts) != wanted:
        shown = ", ".join("?" if n is None else str(n) for n in shifts) + "," * (len(shifts) == 1)
        why = "there is no axis" if axes is None else f"there are axes {tuple(axes)}"
        raise Misfit(f"shift ({shown}) has {len(shifts)} numbers, not {wanted}: {why}")
    return flipped(shape, axes)


def flipped(shape: Shape, axes: Sequence[int] | None) -> Shape:
    """`flip`: the shape stays."""
    if axes is not None:
        axes_in(axes, shape)
    return shape


def along(shape: Shape, indices: Shape, axis: int) -> Shape:
    """`take_along_axis`: the size that the axis has in the indices; the other axes broadcast."""
    at = axis_in(axis, len(shape), shape)
    if len(indices) != len(shape):
        raise Misfit(
            f"the indices have {len(indices)} axes, and the array of shape {text(shape)} has {len(shape)}"
        )
    result: list[Size] = []
    for i, (n, m) in enumerate(zip(shape, indices, strict=True)):
        if i == at or n == ONE:
            result.append(m)
        elif m is None or m == ONE:
            result.append(n)
        elif differ(n, m):
            raise Misfit(
                f"indices of shape {text(indices)} do not fit shape {text(shape)} along axis {at}: "
                f"{size_text(n)} and {size_text(m)} differ on axis {i}"
            )
        else:
            result.append(m if n is None else n)
    return tuple(result)
