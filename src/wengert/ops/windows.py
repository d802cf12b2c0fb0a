"""Windows that slide over images: where they lie, what they see, and where a delta of that goes.

Knows: stride, padding and dilation, and that a delta goes back to every element that a window has seen.
Refuses to know: what is done with what a window sees, and how windows are copied out of an array and added back.
"""

from __future__ import annotations

from sys import maxsize

from wengert.arrays import Value, is_integer
from wengert.arrays.axes import taps
from wengert.arrays.namespace import Pair
from wengert.errors import ArgumentError, ShapeError
from wengert.graph.batch import Batch
from wengert.graph.operand import shown
from wengert.ops.batching import shaped

IntOrPair = int | tuple[int, int]


def several(what: str, x: object, count: int, least: int) -> tuple[int, ...]:
    """A number for each of so many axes; an int stands for all of them."""
    found = (x,) * count if is_integer(x) else x
    if not isinstance(found, (tuple, list)) or len(found) != count or not all(map(is_integer, found)):
        form = ("an int", "an int or a pair of ints", f"an int or {count} ints")[min(count, 3) - 1]
        raise ArgumentError(f"{what} is {form}; got {shown(x)}")
    numbers = tuple(map(int, found))
    if min(numbers) < least:
        raise ShapeError(f"{what} {numbers}: each has to be at least {least}")
    if max(numbers) > maxsize:
        raise ShapeError(f"{what} {shown(numbers)}: no axis is that long")
    return numbers


def slides(count: int, stride: object, padding: object, dilation: object) -> dict[str, Value]:
    """How a window slides over each of so many axes; checked in the order of `wengert_shapes.windows`."""
    steps, gaps = several("stride", stride, count, 1), several("dilation", dilation, count, 1)
    return {"dilation": gaps, "padding": several("padding", padding, count, 0), "stride": steps}


def groups_of(groups: object) -> int:
    """The number of groups of channels."""
    if not is_integer(groups) or int(groups) < 1:
        raise ArgumentError(f"groups is a positive int; got {shown(groups)}")
    return int(groups)


def around(padding: Pair) -> tuple[Pair, ...]:
    """The widths of `pad` for images."""
    return ((0, 0), (0, 0), *((p, p) for p in padding))


def seen(c: Value, x: Value, filled: float, size: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Value:
    """The elements of each window, on a new axis: (batch, channels, places in a window, rows, columns)."""
    return c.xp.windows(c.xp.pad(x, around(padding), filled), size, stride, dilation)


def taps_of(
    c: Value, x: Value, filled: float, size: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> list[Value]:
    """For each place in a window a view of what all windows see there: (batch, channels, rows, columns)."""
    whole = c.xp.pad(x, around(padding), filled)
    counts = tuple(n + 2 * p for n, p in zip(c.shape(0)[2:], padding, strict=True))
    return [whole[key] for key in taps(counts, size, stride, dilation)]


def unseen(c: Value, parts: Value, size: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Value:
    """A delta of what windows have seen, as one array or by place, added up where each element was."""
    batch, channels, height, width = c.shape(0)
    above, before = padding
    shape = (batch, channels, height + 2 * above, width + 2 * before)
    whole = c.xp.unwindows(parts, shape, size, stride, dilation)
    if not above and not before:
        return whole
    return whole[(..., slice(above, above + height), slice(before, before + width))]


def merged(b: Batch, x: Value, *others: Value, **places: Pair) -> Value:
    """The images of all rows as one batch."""
    result = b.result.shape or ()
    images, *rest = b.shape(0)
    made = b.again(shaped(x, (b.rows * images, *rest)), *others, **places)
    return shaped(made, (b.rows, *result))
