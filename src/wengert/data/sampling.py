"""Batches whose examples are drawn by weight, or are of similar lengths; sequences of other lengths as one array.

Knows: that seed and epoch decide the order, as of `batches`.
Refuses to know: what the examples are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from wengert.arrays.samples import Labels, drawn_by_weight, integers, lengths_in_order, order, padded
from wengert.data.batching import Batches
from wengert.data.rows import Source, check_source
from wengert.errors import ArgumentError
from wengert.graph.operand import shown
from wengert.site import user_position

B = TypeVar("B")


def weighted_batches(
    data: Source[B], weights: Sequence[float], size: int, *, seed: int, epoch: int, count: int | None = None
) -> Batches[B]:
    """`count` examples, as many as there are if it is None, drawn with replacement with probabilities as `weights`.

    Rare classes come as often as others with weights of 1 / their number. The last batch may be smaller. ArgumentError
    for weights that are not one an example, negative, not finite, or all 0, and for a size or count below 1.
    >>> from wengert.data import Items
    >>> found = weighted_batches(Items("ab"), [0.0, 3.0], 2, seed=0, epoch=0, count=3)
    >>> [batch.items for batch in found]
    [('b', 'b'), ('b',)]

    Source: `torch.utils.data.WeightedRandomSampler`.
    """
    check_source("weighted_batches", data)
    n = len(data)
    many = n if count is None else count
    _least("weighted_batches", size=(size, 1), count=(many, 1), seed=(seed, 0), epoch=(epoch, 0))
    places = drawn_by_weight(seed, epoch, weights, many)
    if places is None or len(weights) != n:
        raise ArgumentError(
            f"weighted_batches: weights are {n:,} finite numbers, at least 0 and not all 0, one an example; got "
            f"{len(weights):,}: {weights!r:.60}\n  at {user_position()}"
        )
    return Batches(data, _cut(places, size))


def bucketed_batches(
    data: Source[B],
    lengths: Sequence[int],
    size: int,
    *,
    seed: int,
    epoch: int,
    drop_last: bool = False,
    pool: int = 100,
) -> Batches[B]:
    """All examples in batches of similar lengths, in an order that `seed` and `epoch` decide, so that little is padded.

    Of each `pool` · `size` examples of the usual order those of similar lengths go together; then batches are put in
    another order. ArgumentError for lengths that are not one an example, and for numbers that are too small.
    >>> from wengert.data import Items
    >>> words = ["a", "bbbb", "cc", "dddd", "e", "ff"]
    >>> found = bucketed_batches(Items(words), [len(word) for word in words], 2, seed=0, epoch=0)
    >>> sorted(sorted(map(len, batch)) for batch in found)
    [[1, 1], [2, 2], [4, 4]]

    Source: `torchtext.data.BucketIterator`.
    """
    check_source("bucketed_batches", data)
    _least("bucketed_batches", size=(size, 1), pool=(pool, 1), seed=(seed, 0), epoch=(epoch, 0))
    if len(lengths) != len(data):
        raise ArgumentError(
            f"bucketed_batches: there are {len(data):,} examples and {len(lengths):,} lengths; give one an example\n"
            f"  at {user_position()}"
        )
    usual = order(seed, epoch, len(data))
    cut: list[Labels] = []
    for some in _cut(usual, pool * size):
        cut += _cut(lengths_in_order(some, lengths), size)
    if drop_last:
        cut = [places for places in cut if len(places) == size]
    return Batches(data, [cut[i] for i in order(seed, epoch, len(cut)).tolist()])


# Any: arrays
def pad(sequences: Sequence[Any], *, value: float = 0, length: int | None = None) -> tuple[Any, Labels]:
    """Sequences as one array, (examples, longest, ...), with `value` behind the end of each, and their lengths.

    Element types are those of the first. ArgumentError for no sequence, and for one that is longer than `length`.
    >>> import numpy as np
    >>> found, lengths = pad([np.array([1, 2, 3]), np.array([4])], value=-1)
    >>> found.tolist(), lengths.tolist()
    ([[1, 2, 3], [4, -1, -1]], [3, 1])

    Source: `torch.nn.utils.rnn.pad_sequence`.
    """
    lengths = integers([len(sequence) for sequence in sequences])
    longest = max(lengths.tolist(), default=0) if length is None else length
    if not len(sequences) or max(lengths.tolist()) > longest:
        raise ArgumentError(
            f"pad: sequences are one or more, none longer than length={longest}; got {len(sequences)} with lengths "
            f"{lengths.tolist()!s:.60} in {shown(sequences):.60}\n  at {user_position()}"
        )
    return padded(sequences, longest, value), lengths


def _cut(places: Labels, size: int) -> list[Labels]:
    return [places[start : start + size] for start in range(0, len(places), size)]


def _least(who: str, **numbers: tuple[int, int]) -> None:
    for what, (n, least) in numbers.items():
        if type(n) is not int or n < least:
            raise ArgumentError(
                f"{who}: {what} is an integer from {least} on; got {n!r:.60}\n  at {user_position()}"
            )
