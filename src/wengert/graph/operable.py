"""Python's operators on a user's Data, as types: the evidence that a type checker has for those on its layers.

Knows: which operator needs which method of the Data, and what that gives.
Refuses to know: rules. That an operation has one for these Data is looked up where the node is built.
"""

from __future__ import annotations

from typing import Protocol

from typing_extensions import TypeVar

B = TypeVar("B", contravariant=True)
R = TypeVar("R", covariant=True)


class Adds(Protocol[B, R]):
    """Data with `a + b`."""

    def __add__(self, other: B, /) -> R: ...


class Subtracts(Protocol[B, R]):
    """Data with `a - b`."""

    def __sub__(self, other: B, /) -> R: ...


class Multiplies(Protocol[B, R]):
    """Data with `a * b`."""

    def __mul__(self, other: B, /) -> R: ...


class Divides(Protocol[B, R]):
    """Data with `a / b`."""

    def __truediv__(self, other: B, /) -> R: ...


class Raises(Protocol[B, R]):
    """Data with `a ** b`."""

    def __pow__(self, other: B, /) -> R: ...


class Contracts(Protocol[B, R]):
    """Data with `a @ b`."""

    def __matmul__(self, other: B, /) -> R: ...


class IsAdded(Protocol[B, R]):
    """Data with `a + b` where they are `b`."""

    def __radd__(self, other: B, /) -> R: ...


class IsSubtracted(Protocol[B, R]):
    """Data with `a - b` where they are `b`."""

    def __rsub__(self, other: B, /) -> R: ...


class IsMultiplied(Protocol[B, R]):
    """Data with `a * b` where they are `b`."""

    def __rmul__(self, other: B, /) -> R: ...


class Negates(Protocol[R]):
    """Data with `-a`."""

    def __neg__(self) -> R: ...


class HasAbs(Protocol[R]):
    """Data with `abs(a)`."""

    def __abs__(self) -> R: ...
