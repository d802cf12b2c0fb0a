"""The rule of order: how deltas of one weight that were computed apart become one, with the same bits wherever.

Knows: that floating-point sums have an order, so that it is written down once: from the last to the first; that what is
lazy is carried out before, but for few rows of a table, which stay rows, and for what replaces the data of a buffer.
Refuses to know: who computed a delta, and which optimizer gets the sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wengert.arrays import Value, is_array, own_copy
from wengert.graph.node import Expression
from wengert.graph.weights import Weight
from wengert.lazy import LazyDelta, Replacement, Rows, dense


class Shard(NamedTuple):
    """A loss of a part of a batch, computed by itself: its value, and the deltas of its weights, as `bordered`."""

    value: Value
    deltas: Mapping[Weight, Value]


def bordered(value: Value, deltas: Mapping[Expression, Value]) -> Shard:
    """The shard with such deltas, which nothing lazy leaves."""
    return Shard(value, {x: _settled(delta) for x, delta in deltas.items() if isinstance(x, Weight)})


def _settled(delta: Value) -> Value:
    """A delta carried out; of few rows of a table a term of each line once, ascending."""
    if not isinstance(delta, LazyDelta) or isinstance(delta.first, Replacement):
        return delta
    lines = delta.touched()
    if lines is None or not isinstance(delta.first, Rows):
        return delta.dense()
    return LazyDelta([Rows(*lines, delta.first.shape)])


def total(shards: Sequence[Shard]) -> Shard:
    """The sum of all: of the values from the first to the last, of deltas from the last to the first.

    >>> import numpy as np
    >>> total([Shard(1.0, {}), Shard(2.0, {})]).value
    3.0
    """
    value = shards[0].value
    for shard in shards[1:]:
        value = value + shard.value
    found: dict[Weight, list[Value]] = {}
    for shard in reversed(shards):
        for weight, delta in shard.deltas.items():
            found.setdefault(weight, []).append(delta)
    return Shard(value, {weight: _sum(deltas) for weight, deltas in found.items()})


def _sum(deltas: Sequence[Value]) -> Value:
    """The sum of the deltas of one weight, in this order."""
    if len(deltas) == 1:
        return deltas[0]
    lazy = [x for x in deltas if isinstance(x, LazyDelta)]
    if len(lazy) == len(deltas):
        terms = [term for x in lazy for term in x.terms]
        return _settled(LazyDelta(terms))
    first, *others = map(dense, deltas)
    if not is_array(first):
        for x in others:
            first = first + x
        return first
    made = own_copy(first)
    for x in others:
        made += x
    return made


def of_shard(failure: Exception, i: int, count: int) -> Exception:
    """The failure, which says of which shard it is."""
    failure.add_note(f"in shard {i} of {count}")
    return failure


def times(delta: Value, factor: Value) -> Value:
    """A delta for a sum that is part of a larger loss; what replaces the data of a buffer has no size."""
    g = float(factor)  # or a delta of float32 would become one of float64 where the loss is
    if g == 1.0 or (isinstance(delta, LazyDelta) and isinstance(delta.first, Replacement)):
        return delta
    if isinstance(delta, LazyDelta):
        return LazyDelta([Rows(x.key, g * x.values, x.shape) for x in delta.terms if isinstance(x, Rows)])
    return g * delta
