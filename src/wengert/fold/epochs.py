"""Examples in groups and in epochs.

Knows: sizes of groups, and that an order comes from a seed.
Refuses to know: what an example is.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from typing import TypeVar

from wengert.arrays import is_integer
from wengert.errors import BlockValueError
from wengert.fold.types import error_here
from wengert.graph.operand import shown

X = TypeVar("X")


def group_by_batches(examples: Iterable[X], batch_size: int, truncate: bool = False) -> Iterator[list[X]]:
    """Lists of `batch_size` examples; the last one is shorter, or, with `truncate`, left out if it would be.

    Raises BlockValueError, at the call, for a size below 1.
    >>> list(group_by_batches("abcde", 2)), list(group_by_batches("abcde", 2, truncate=True))
    ([['a', 'b'], ['c', 'd'], ['e']], [['a', 'b'], ['c', 'd']])

    Source: TensorFlow Fold, `td.group_by_batches`.
    """
    if not is_integer(batch_size) or int(batch_size) < 1:
        raise error_here(
            f"td.group_by_batches: a batch has at least one example, not {shown(batch_size)}", BlockValueError
        )
    return _groups(iter(examples), int(batch_size), truncate)


def _groups(examples: Iterator[X], size: int, truncate: bool) -> Iterator[list[X]]:
    while batch := list(itertools.islice(examples, size)):
        if len(batch) == size or not truncate:
            yield batch


def epochs(
    examples: Iterable[X], n: int | None = None, shuffle: bool = True, prng: random.Random | None = None
) -> Iterator[list[X]]:
    """All examples n times, or without an end: first in their order, then, with `shuffle`, in a new one each time.

    The order comes from `prng`, without one from a generator with the seed 0; each epoch is a list of its own.
    >>> import random
    >>> [sorted(epoch) for epoch in epochs(iter("abc"), 2)], next(epochs("abc", prng=random.Random(1)))
    ([['a', 'b', 'c'], ['a', 'b', 'c']], ['a', 'b', 'c'])

    Source: TensorFlow Fold, `td.epochs`, which shuffles without a seed.
    """
    chance = random.Random(0) if prng is None else prng
    remembered = list(examples)
    for turn in itertools.count() if n is None else range(n):
        if turn and shuffle:
            chance.shuffle(remembered)
        yield list(remembered)
