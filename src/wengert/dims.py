"""Dimensions computed from others, in signatures: `ArrayLayer[tuple[Batch, Add[Features, Literal[1]]]]`.

Knows: three names that the mypy plugin computes with; without it they are three kinds of int. And what states
a dimension where an array is at hand.
Refuses to know: how to compute. Nothing here is ever made at run time.

>>> from typing import Literal, TypeVar
>>> Width = TypeVar("Width", bound=int)
>>> tuple[Add[Width, Literal[1]], Mul[Width, Literal[2]]]
tuple[wengert.dims.Add[~Width, typing.Literal[1]], wengert.dims.Mul[~Width, typing.Literal[2]]]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NoReturn, SupportsIndex, TypeAlias, TypeVar

__all__ = ["Add", "Dimension", "FloorDiv", "Mul"]

# what may state a dimension of an array: its size, or a class or NewType of int that names it; for pyrefly a
# NewType is a function and no class
Dimension: TypeAlias = SupportsIndex | type[int] | Callable[[int], int]

A = TypeVar("A", bound=int)
B = TypeVar("B", bound=int)


class _Computed(int):
    """Base of the three: names of computed dimensions, without values."""

    def __new__(cls) -> NoReturn:
        raise TypeError(f"{cls.__name__} names a dimension in a type and has no values; write the number")


class Add(_Computed, Generic[A, B]):
    """A dimension of A + B."""


class Mul(_Computed, Generic[A, B]):
    """A dimension of A * B."""


class FloorDiv(_Computed, Generic[A, B]):
    """A dimension of A // B, rounded down."""
