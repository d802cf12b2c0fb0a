"""Deltas that nobody has carried out yet: sums of terms, and the two terms worth keeping as they are.

Knows: that the best way to add a delta to a weight is often not to make it: `W -= r * x.T @ d` is one BLAS
call, and the delta of `take` touches a few rows of a table.
Refuses to know: graphs, and which operation made a term.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar, Protocol

from wengert.arrays import Value, namespace_of


class Term(Protocol):
    """One summand of a delta that has not been carried out."""

    def dense(self) -> Value:
        """The summand as an array."""

    def subtract_from(self, buffer: Value, scale: float) -> None:
        """`buffer -= scale * self`, in place."""

    def arrays(self) -> tuple[Value, ...]:
        """The arrays that it reads."""


@dataclass(slots=True, eq=False)  # not frozen: that takes 1.5 us to make in place of 0.4
class Dense:
    """A summand that is an array already."""

    array: Value

    def arrays(self) -> tuple[Value, ...]:
        return (self.array,)

    def dense(self) -> Value:
        return self.array

    def subtract_from(self, buffer: Value, scale: float) -> None:
        buffer -= self.array if scale == 1.0 else scale * self.array


@dataclass(slots=True, eq=False)  # not frozen: that takes 1.5 us to make in place of 0.4
class Product:
    """`left.T @ right` of two matrices: the delta of a matrix weight."""

    left: Value
    right: Value

    def arrays(self) -> tuple[Value, ...]:
        return (self.left, self.right)

    def dense(self) -> Value:
        return namespace_of(self.left).matmul(self.left.T, self.right)

    def subtract_from(self, buffer: Value, scale: float) -> None:
        namespace_of(buffer).fused_update(buffer, self.left, self.right, scale)


@dataclass(slots=True, eq=False)  # not frozen: that takes 1.5 us to make in place of 0.4
class Rows:
    """`values` at `key` of an array of `shape`, zero elsewhere; equal indices add up (the sparse delta)."""

    key: Value  # anything that indexes an array
    values: Value
    shape: tuple[int, ...]

    def arrays(self) -> tuple[Value, ...]:
        return (self.values,)

    def dense(self) -> Value:
        return namespace_of(self.values).add_at(self.shape, self.values.dtype, self.key, self.values)

    def subtract_from(self, buffer: Value, scale: float) -> None:
        namespace_of(buffer).subtract_at(buffer, self.key, scale * self.values)


@dataclass(slots=True, eq=False)  # not frozen: that takes 1.5 us to make in place of 0.4
class LazyDelta:
    """A sum of terms times a factor; `dense()` carries it out, `subtract_from` applies it without doing so.

    >>> import numpy as np
    >>> twice = LazyDelta((Rows(0, np.ones(2), (2, 2)), Dense(np.ones((2, 2)))))
    >>> (twice + twice).dense().tolist()
    [[4.0, 4.0], [2.0, 2.0]]
    """

    terms: tuple[Term, ...]
    factor: float = 1.0

    __array_ufunc__: ClassVar[None] = None  # numpy's `array + lazy` comes to `__radd__`

    def dense(self) -> Value:
        total = self.terms[0].dense()
        for term in self.terms[1:]:
            total = total + term.dense()
        return total if self.factor == 1.0 else self.factor * total

    def subtract_from(self, buffer: Value) -> None:
        for term in self.terms:
            term.subtract_from(buffer, self.factor)

    def reads(self, buffers: Container[int]) -> bool:
        """Whether a term is, or is a view of, an array whose identity is in `buffers`."""
        for term in self.terms:
            for x in term.arrays():
                if id(x) in buffers or id(x.base) in buffers:
                    return True
        return False

    def __add__(self, other: LazyDelta | Value) -> LazyDelta:
        if isinstance(other, LazyDelta):
            if other.factor == self.factor:
                return LazyDelta(self.terms + other.terms, self.factor)
            other = other.dense()
        if self.factor != 1.0:
            return LazyDelta((Dense(self.dense()), Dense(other)))
        return LazyDelta((*self.terms, Dense(other)))

    __radd__ = __add__


def dense(delta: Value) -> Value:
    """The delta as a number or an array."""
    return delta.dense() if isinstance(delta, LazyDelta) else delta


def scaled(delta: Value, factor: float) -> Value:
    """`factor * delta` in the delta's own dtype; a lazy one stays lazy."""
    if isinstance(delta, LazyDelta):
        return LazyDelta(delta.terms, delta.factor * factor)
    return factor * delta
