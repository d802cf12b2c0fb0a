"""Sets of examples: arrays with a row an example, or a sequence of anything.

Knows: that some examples of a set are a smaller set of the same class, which is what a batch is.
Refuses to know: which examples make a batch, and what they mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, Protocol, Self, SupportsIndex, TypeVar, final

from wengert.arrays import HostMask, is_array, shape_of
from wengert.arrays.samples import Labels
from wengert.errors import ArgumentError, DataError
from wengert.graph.operand import shown
from wengert.site import user_position

A = TypeVar("A")
B_co = TypeVar("B_co", covariant=True)


class Source(Protocol[B_co]):
    """A set of examples: how many there are, and some of them as one batch."""

    def __len__(self) -> int: ...

    def take(self, indices: Labels, /) -> B_co:
        """The examples at these places, in this order."""
        ...


def check_source(who: str, data: object, otherwise: str = "") -> None:
    """ArgumentError for what is no set of examples; an array is none, as its own `take` looks at single elements."""
    if is_array(data) or not callable(getattr(data, "take", None)):
        raise ArgumentError(
            f"{who}: data are a set of `wengert.data`{otherwise}; got {shown(data)}; of arrays make a dataclass that "
            f"derives from data.Rows, of examples in a list make data.Items(...)\n  at {user_position()}"
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """The base of frozen dataclasses whose fields are arrays with a row an example.

    Raises DataError, on making, for a field that is no array or has another number of rows.
    >>> import numpy as np
    >>> @dataclass(frozen=True, eq=False)
    ... class Points(Rows):
    ...     x: np.ndarray[tuple[int, int], np.dtype[np.float32]]
    ...     label: np.ndarray[tuple[int], np.dtype[np.int64]]
    >>> points = Points(np.eye(3, dtype=np.float32), np.array([0, 1, 0]))
    >>> len(points), points.take(np.array([2, 1])).label.tolist()
    (3, [0, 1])
    """

    def __post_init__(self) -> None:
        lengths = {name: _length(self, name, x) for name, x in _columns(self).items()}
        if not lengths:
            raise DataError(
                f"{type(self).__name__} has no fields; give it arrays with a row an example\n"
                f"  at {user_position()}"
            )
        if len({*lengths.values()}) > 1:
            said = ", ".join(f"{name!r} has {count:,}" for name, count in lengths.items())
            raise DataError(
                f"{type(self).__name__}: arrays differ in their number of rows: {said}\n  at {user_position()}"
            )

    def __len__(self) -> int:
        return len(next(iter(_columns(self).values())))

    def __getitem__(self, key: slice | Labels | HostMask[tuple[int]], /) -> Self:
        """Some of the examples: of a slice, at places, or where a mask is true.

        ArgumentError for a single place, which would be no set: write data[i : i + 1].
        >>> from wengert.data import digits
        >>> len(digits()[:1000]), len(digits()[digits().labels == 3])
        (1000, 183)
        """
        if not isinstance(key, slice) and not (is_array(key) and len(shape_of(key)) == 1):
            raise ArgumentError(
                f"{type(self).__name__}[...]: the key is a slice, an array of places or a mask; got {shown(key)}; of "
                f"one example write data[i : i + 1]\n  at {user_position()}"
            )
        return replace(self, **{name: x[key] for name, x in _columns(self).items()})

    def take(self, indices: Labels, /) -> Self:
        """The examples at these places, in this order, as copies.

        >>> import numpy as np
        >>> from wengert.data import digits
        >>> len(digits().take(np.arange(10)))
        10
        """
        return replace(self, **{name: x[indices] for name, x in _columns(self).items()})


def _columns(rows: Rows) -> dict[str, Any]:  # Any: arrays of every type
    return {field.name: getattr(rows, field.name) for field in fields(rows)}


def _length(rows: Rows, name: str, x: object) -> int:
    shape = shape_of(x) if is_array(x) else ()
    if not shape:
        raise DataError(
            f"{type(rows).__name__}: {name!r} is {shown(x)}, and has to be an array with a row an example\n"
            f"  at {user_position()}"
        )
    return shape[0]


@final
@dataclass(frozen=True, eq=False, init=False)
class Items(Generic[A]):
    """Examples of any kind, such as trees, one after the other; a batch of them is `Items` too.

    >>> words = Items(["a", "b", "c"])
    >>> len(words), words[1], list(words)
    (3, 'b', ['a', 'b', 'c'])
    """

    items: tuple[A, ...]

    def __init__(self, items: Iterable[A]) -> None:
        object.__setattr__(self, "items", tuple(items))  # the way of frozen dataclasses

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: SupportsIndex, /) -> A:
        return self.items[index]

    def __iter__(self) -> Iterator[A]:
        return iter(self.items)

    def take(self, indices: Labels, /) -> Items[A]:
        """The examples at these places, in this order.

        >>> import numpy as np
        >>> Items("abc").take(np.array([2, 0])).items
        ('c', 'a')
        """
        return Items(self.items[i] for i in indices.tolist())
