"""Batches and splits, in an order that a seed decides.

Knows: that seed and epoch decide the order of an epoch, so that every batch of every epoch can be had at once.
Refuses to know: what the examples are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar, final

from wengert.arrays import is_integer
from wengert.arrays.samples import Labels, integers, order
from wengert.data.rows import Source, check_source
from wengert.errors import ArgumentError, DataError
from wengert.site import user_position

B = TypeVar("B")
B_co = TypeVar("B_co", covariant=True)


@final
class Batches(Generic[B_co]):
    """The batches of one epoch: `len` says how many, an index gives one of them, made when it is asked for.

    `places` are those of the examples of each batch; `batches` makes the usual ones. Raises ArgumentError for what is
    no set of examples, such as an array.
    >>> import numpy as np
    >>> from wengert.data import Items
    >>> made = Batches(Items("abcde"), [np.array([4, 0]), np.array([2])])
    >>> len(made), made[0].items
    (2, ('e', 'a'))
    """

    __slots__ = ("_data", "_places")

    def __init__(self, data: Source[B_co], places: Sequence[Labels]) -> None:
        check_source("batches", data)
        self._data = data
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int, /) -> B_co:
        return self._data.take(self._places[index])

    def __iter__(self) -> Iterator[B_co]:
        return map(self._data.take, self._places)

    def __repr__(self) -> str:
        return f"<{len(self)} batches>"


def batches(
    data: Source[B],
    size: int,
    *,
    seed: int,
    epoch: int,
    shuffle: bool = True,
    drop_last: bool = False,
) -> Batches[B]:
    """All examples in batches of `size`, in an order that `seed` and `epoch` decide, or in their own.

    Each example is in one batch; the last may be smaller, or is left out with `drop_last`. The order does not
    depend on the version of numpy. Raises ArgumentError for what is no set of examples, such as an array, a
    size below 1 and a negative seed or epoch.
    >>> from wengert.data import Items
    >>> made = batches(Items("abcde"), 2, seed=0, epoch=3, shuffle=False)
    >>> len(made), made[2].items, [batch.items for batch in made]
    (3, ('e',), [('a', 'b'), ('c', 'd'), ('e',)])
    """
    for what, n, least in (("size", size, 1), ("seed", seed, 0), ("epoch", epoch, 0)):
        _check("batches", what, n, least)
    n = len(data)
    places = order(seed, epoch, n) if shuffle else integers(range(n))
    ends = range(size, (n if drop_last else n + size - 1) + 1, size)
    return Batches(data, [places[end - size : end] for end in ends])


def split(data: Source[B], fractions: Sequence[float], *, seed: int) -> tuple[B, ...]:
    """Parts of a set, by chance: each example is in one of them, and a fraction says how many are in a part.

    Parts begin at the nearest whole numbers. Raises ArgumentError for what is no set, and for fractions that
    are not positive or do not sum to 1; DataError for a part without an example.
    >>> from wengert.data import Items
    >>> train, test = split(Items(range(10)), (0.8, 0.2), seed=0)
    >>> len(train), len(test), sorted([*train, *test]) == list(range(10))
    (8, 2, True)
    """
    check_source("split", data)
    _check("split", "seed", seed, 0)
    if not all(0.0 < f <= 1.0 for f in fractions) or not math.isclose(math.fsum(fractions), 1.0):
        raise ArgumentError(
            f"split: fractions are positive and sum to 1, as in (0.8, 0.2); got {tuple(fractions)}\n"
            f"  at {user_position()}"
        )
    n = len(data)
    ends = [round(n * math.fsum(fractions[: i + 1])) for i in range(len(fractions))]
    pairs = list(zip([0, *ends[:-1]], ends, strict=True))
    empty = [fractions[i] for i, (start, stop) in enumerate(pairs) if start == stop]
    if empty:
        raise DataError(f"split: of {n:,} examples a fraction of {empty[0]} has none\n  at {user_position()}")
    places = order(seed, 0, n)
    return tuple(data.take(places[start:stop]) for start, stop in pairs)


def _check(who: str, what: str, n: object, least: int) -> None:
    if not is_integer(n) or int(n) < least:
        raise ArgumentError(
            f"{who}: {what} is an integer from {least} on; got {n!r:.60}\n  at {user_position()}"
        )
