"""Addition of the derivatives of a type, and their zero.

Knows: a delta is whatever adds with `+` and keeps the laws of `check_additive`; Python floats, numpy scalars
and arrays do by themselves.
Refuses to know: graphs, and which operation made a delta.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

from wengert.arrays import namespace_of

D = TypeVar("D")


@runtime_checkable
class Additive(Protocol):
    """Protocol of a user's delta: `a + b`, associative and commutative, with `zero(data)` neutral."""

    def __add__(self, other: Self, /) -> Self: ...


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
