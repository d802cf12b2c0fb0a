"""How the derivatives of a type add, what their zero is, and what becomes of them at a weight.

Knows: a delta is whatever adds with `+` and agrees with the laws in `check_additive`; Python floats, numpy
scalars and arrays do by themselves, and `LazyDelta` is a sum of terms that nobody has carried out yet.
Refuses to know: graphs, and which operation made a delta.

A term stays lazy because the best way to add it to a weight is often not to make it: `W -= r * x.T @ d` is one
BLAS call, and the delta of `take` touches a few rows of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

from wengert.arrays import Value, namespace_of

D = TypeVar("D")


@runtime_checkable
class Additive(Protocol):
    """What a user's Delta must have: `a + b`, associative and commutative, with `zero(data)` neutral."""

    def __add__(self, other: Self, /) -> Self: ...


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


@singledispatch
def zero(data: object) -> Any:  # Any: the Delta that belongs to `data` is known to the registration only
    """The delta that changes nothing, for data of a registered type; register your own with `zero.register`."""
    return namespace_of(data).zeros_like(data)


@zero.register
def _(data: float) -> float:
    return 0.0


@zero.register
def _(data: tuple) -> tuple[Any, ...]:  # type: ignore[type-arg] # singledispatch takes the bare class
    return tuple(zero(part) for part in data)


def check_additive(zero: D, samples: list[D], same: Callable[[D, D], bool]) -> None:
    """The laws of a Delta, as code: associative, commutative, `zero` neutral. Raises AssertionError.

    >>> check_additive(0.0, [1.0, -2.5, 4.0], lambda a, b: a == b)
    """

    def add(a: Any, b: Any) -> Any:  # Any: `D` needs `__add__` only here
        return a + b

    for a in samples:
        assert same(add(a, zero), a) and same(add(zero, a), a), f"zero is not neutral for {a!r}"
        for b in samples:
            assert same(add(a, b), add(b, a)), f"addition does not commute for {a!r} and {b!r}"
            for c in samples:
                left, right = add(add(a, b), c), add(a, add(b, c))
                assert same(left, right), f"addition is not associative for {a!r}, {b!r}, {c!r}"
