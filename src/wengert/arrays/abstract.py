"""Abstract values: what is known of a value before it is there, with sizes that only the run knows.

Knows: what numpy makes of shapes that meet, and of a shape that is indexed, without an array.
Refuses to know: elements, functions, and what a row is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np

__all__ = [
    *("UNKNOWN", "Aval", "Form", "OpenIndices", "Order", "RowCount", "RowTotals", "Size", "Sizes"),
    *("broadcast_sizes", "indexed_sizes", "is_open", "sizes_for"),
]

Form = Literal[  # with axes, of shape (), Python's, a plan of sums of rows, anything else
    "array", "scalar", "number", "plan", "other"
]
Order = Literal["compact", "gaps", "other"]  # in C order, in C order but for gaps, any other layout

RowTotals = int | tuple[int, ...]  # the number of rows, or several by number

_TYPICAL: Final = 101  # rows, for rules that choose by size: they are told that there are many


class RowCount:
    """`times` the number of rows: a size that only the run knows; of several numbers of rows that `of`.

    Sums, products and exact quotients are sizes again; anything else raises `TypeError`. It has no `__index__`, so
    that no rule can fix a number of rows without an error. Where a rule compares sizes there are 101 rows.
    >>> n = RowCount()
    >>> 2 * n + n, 4 * n // 2, n > 8
    (3n, 2n, True)
    >>> n + 1
    Traceback (most recent call last):
    TypeError: n + 1 is no multiple of the number of rows
    """

    __slots__ = ("of", "times")

    def __init__(self, times: int = 1, of: int | None = None) -> None:
        self.times = times
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowCount) and self.times == other.times and self.of == other.of

    def __hash__(self) -> int:
        return hash((self.times, self.of))

    def at(self, rows: RowTotals) -> int:
        """The size for so many rows."""
        return self.times * (rows if isinstance(rows, int) else rows[self.of or 0])

    def __mul__(self, other: object) -> RowCount | int:
        if type(other) is int:
            return RowCount(self.times * other, self.of) if other else 0
        return NotImplemented

    __rmul__ = __mul__

    def __add__(self, other: object) -> RowCount:
        if isinstance(other, RowCount) and other.of == self.of:
            return RowCount(self.times + other.times, self.of)
        if other == 0:
            return self
        raise TypeError(f"{self} + {other} is no multiple of the number of rows")

    __radd__ = __add__

    def __floordiv__(self, other: object) -> RowCount:
        if type(other) is int and other and self.times % other == 0:
            return RowCount(self.times // other, self.of)
        raise TypeError(f"{self} // {other} depends on the number of rows")

    def __mod__(self, other: object) -> int:
        if type(other) is int and other and self.times % other == 0:
            return 0
        raise TypeError(f"{self} % {other} depends on the number of rows")

    def __gt__(self, other: object) -> bool:
        return bool(_typical(self) > _typical(other))

    def __ge__(self, other: object) -> bool:
        return bool(_typical(self) >= _typical(other))

    def __lt__(self, other: object) -> bool:
        return bool(_typical(self) < _typical(other))

    def __le__(self, other: object) -> bool:
        return bool(_typical(self) <= _typical(other))

    def __repr__(self) -> str:
        name = "n" if self.of is None else f"n{self.of}"
        return name if self.times == 1 else f"{self.times}{name}"


def _typical(x: Any) -> Any:  # Any: a number that is compared
    return x.times * _TYPICAL if isinstance(x, RowCount) else x


Size = int | RowCount
Sizes = tuple[Size, ...]


class Aval:
    """An abstract value: what is known of a value before it is there.

    A `scalar` has shape () and may be numpy's scalar or an array without axes: nothing may depend on which. `dtype` is
    `float`, `int` or `bool` of a `number`, and None where it is not known. numpy lays a result out as its operands lie,
    and a sum over another layout has other last bits: `order` is a part of what is known.
    """

    __slots__ = ("dtype", "form", "order", "shape")

    # Any: numpy's dtype, a class, or None
    def __init__(self, shape: Sizes, dtype: Any, form: Form = "array", order: Order = "compact") -> None:
        self.shape = shape
        self.dtype = dtype
        self.form: Form = form
        self.order: Order = order

    def _key(self) -> tuple[object, ...]:
        return self.shape, self.dtype, self.form, self.order

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aval) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Aval{self._key()}"

    def __str__(self) -> str:
        name = getattr(self.dtype, "name", None) or getattr(self.dtype, "__name__", "?")
        sizes = f"[{','.join(map(str, self.shape))}]" if self.form == "array" else ""
        return f"{name}{sizes}" if self.form != "number" else f"python {name}"


UNKNOWN: Final = Aval((), None, "other", "other")


def sizes_for(shape: Sizes, rows: RowTotals) -> tuple[int, ...]:
    """The shape for so many rows.

    >>> sizes_for((RowCount(2), 3), 5), sizes_for((RowCount(of=1), 3), (5, 7))
    ((10, 3), (7, 3))
    """
    return tuple([n if isinstance(n, int) else n.at(rows) for n in shape])


def is_open(shape: Sequence[object]) -> bool:
    """True if a number of rows is among some sizes."""
    return any(isinstance(n, RowCount) for n in shape)


class OpenIndices:
    """An index array for a number of rows, of which nothing but the shape is known."""

    __slots__ = ("shape",)

    def __init__(self, shape: Sizes) -> None:
        self.shape = shape

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpenIndices) and self.shape == other.shape

    def __hash__(self) -> int:
        return hash(self.shape)

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self.shape)


def broadcast_sizes(*shapes: Sizes) -> Sizes:
    """The shape that shapes broadcast to; TypeError where they do not.

    >>> broadcast_sizes((RowCount(), 1), (3,))
    (n, 3)
    """
    rank = max(map(len, shapes), default=0)
    made: list[Size] = []
    for sizes in zip(*((1,) * (rank - len(s)) + s for s in shapes), strict=True):
        wanted = {n for n in sizes if n != 1}
        if len(wanted) > 1:
            raise TypeError(f"shapes {shapes} do not broadcast")
        made.append(wanted.pop() if wanted else 1)
    return tuple(made)


def indexed_sizes(shape: Sizes, key: tuple[Any, ...]) -> Sizes:  # Any: whatever an array takes as an index
    """The shape of an array of `shape` at `key`; TypeError where it depends on the number of rows.

    >>> indexed_sizes((RowCount(), 5, 6), (slice(None), 2, slice(1, 4)))
    (n, 3)
    >>> indexed_sizes((4, 5, 6), (0, np.zeros((2, 3), int)))
    (2, 3, 6)
    """
    rest = [slice(None)] * (len(shape) - sum(p is not None and p is not Ellipsis for p in key))
    at = next((i for i, p in enumerate(key) if p is Ellipsis), len(key))
    parts = [*key[:at], *rest, *key[at + 1 :]]
    if at < len(key) and not rest:
        parts.insert(at, None)  # it parts the arrays around it, though it stands for no axis
    sizes = iter(shape)
    made: list[Size] = []
    picked: list[Sizes] = []
    places: list[tuple[int, int]] = []  # of integers and arrays: in the key, and in the result
    for i, part in enumerate(parts):
        if part is None:
            made.append(1)
        elif isinstance(part, slice):
            made.append(_cut(next(sizes), part))
        else:
            next(sizes)
            places.append((i, len(made)))
            picked.append(part.shape if hasattr(part, "shape") else np.shape(part))
    if at < len(key) and not rest:
        del made[sum(p is None or isinstance(p, slice) for p in parts[:at])]
        places = [(i, n - (i > at)) for i, n in places]
    if any(picked):
        together = places[-1][0] - places[0][0] == len(places) - 1
        place = places[0][1] if together else 0
        made[place:place] = broadcast_sizes(*picked)
    return tuple(made)


def _cut(n: Size, part: slice) -> Size:
    """The size of a slice of an axis."""
    if part == slice(None):
        return n
    if isinstance(n, RowCount) or is_open((part.start, part.stop)):
        if part in (slice(0, n), slice(None, n), slice(0, n, 1)):
            return n
        raise TypeError(f"{part} of {n} depends on the number of rows")
    return len(range(*part.indices(n)))
