"""Addition of the derivatives of a type, and their zero.

Knows: a delta is whatever adds with `+` and keeps the laws of `check_additive`; Python floats, numpy scalars
and arrays do by themselves.
Refuses to know: graphs, and which operation made a delta.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, Protocol, Self, runtime_checkable

from wengert.arrays import Value, namespace_of
from wengert.generics import TypeVar

D = TypeVar("D")
X_co = TypeVar("X_co", covariant=True)
G = TypeVar("G")


@runtime_checkable
class Additive(Protocol):
    """Protocol of a user's delta: `a + b`, associative and commutative, with `zero(data)` neutral."""

    def __add__(self, other: Self, /) -> Self: ...


@runtime_checkable
class Parameter(Protocol[X_co, G]):
    """Protocol of a value that a weight of a user's type holds: immutable, of a registered class.

    Its deltas are numbers or arrays, all of one shape and dtype, so that every optimizer can step with them; a file has
    its data as one array. `check_type_laws` checks that a zero step changes nothing, that steps leave shapes alone and
    that an array gives back the value it was made of.
    """

    def zero_delta(self) -> G:
        """The delta that changes nothing."""
        ...

    def stepped(self, step: G, /) -> X_co:
        """The value a step further: `step` is what an array would have subtracted. On a manifold, a retraction."""
        ...

    def to_array(self) -> Value:
        """A number or an array for a file; its shape is that of all values of one weight."""
        ...

    def from_array(self, array: Value, /) -> X_co:
        """The value of such an array; this one may say what the array does not."""
        ...


@singledispatch
def zero(data: object) -> Any:  # Any: the Delta that belongs to `data` is known to the registration only
    """The delta that changes nothing, for data of a registered type; register your own with `zero.register`."""
    return data.zero_delta() if isinstance(data, Parameter) else namespace_of(data).zeros_like(data)


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
