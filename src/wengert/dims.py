"""Dimensions computed from others, in signatures: `ArrayLayer[tuple[Batch, Add[Features, Literal[1]]]]`.

Knows: three names that the mypy plugin computes with; without it they are three kinds of int.
Refuses to know: how. Nothing here is ever made at run time.

>>> from typing import Literal, TypeVar
>>> Width = TypeVar("Width", bound=int)
>>> tuple[Add[Width, Literal[1]], Mul[Width, Literal[2]]]
tuple[wengert.dims.Add[~Width, typing.Literal[1]], wengert.dims.Mul[~Width, typing.Literal[2]]]
"""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar

__all__ = ["Add", "FloorDiv", "Mul"]

A = TypeVar("A", bound=int)
B = TypeVar("B", bound=int)


class _Computed(int):
    """What the three share: they name a dimension and have no values."""

    def __new__(cls) -> NoReturn:
        raise TypeError(f"{cls.__name__} names a dimension in a type and has no values; write the number")


class Add(_Computed, Generic[A, B]):
    """A dimension of A + B."""


class Mul(_Computed, Generic[A, B]):
    """A dimension of A * B."""


class FloorDiv(_Computed, Generic[A, B]):
    """A dimension of A // B, rounded down."""
