"""Basis vectors: of an integer, or of an element of a list.

Knows: which place is 1.
Refuses to know: what is computed with them.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Hashable, Iterable
from typing import Any, Final

from wengert.arrays import is_integer
from wengert.errors import (
    BlockError,
    BlockIndexError,
    BlockKeyError,
    BlockUseError,
    BlockValueError,
)
from wengert.fold.block import A
from wengert.fold.calls import Calls, Direct
from wengert.fold.data import Data, reader
from wengert.fold.solver import Use
from wengert.fold.types import TensorType, Value
from wengert.graph import ArrayLayer
from wengert.graph.operand import shown

_KEPT: Final = 256  # vectors of a block: more would be a matrix


class _Places(Data[A, ArrayLayer[tuple[Any]]]):  # Any: the size
    """A vector that is 1 at the place of the input, and 0 elsewhere."""

    @abstractmethod
    def place(self, x: Value) -> int | None:
        """Where the 1 stands for an input; None for nowhere."""

    def direct(self, use: Use, calls: Calls) -> Direct:
        read = reader(self.of, self)

        @functools.lru_cache(_KEPT)  # what is equal is one layer, and is not made again
        def vector(place: int | None) -> Value:
            row = [0] * self.of.shape[0]
            if place is not None:
                row[place] = 1
            return read(row)

        return lambda x: vector(self.place(x))


class OneHot(_Places[int]):
    """The basis vector of an integer from 0 to `start`, or from `start` to `stop`, the last one left out.

    Raises BlockIndexError where no integer lies between them, BlockError for what is no integer, BlockKeyError, when
    built, for what is no integer between them.
    >>> from wengert import fold as td
    >>> td.OneHot(100, 103).eval(101).tolist()
    [0.0, 1.0, 0.0]

    Source: TensorFlow Fold, `td.OneHot`; there a `stop` of 0 is taken for none.
    """

    def __init__(
        self, start: int, stop: int | None = None, dtype: object = "float32", name: str | None = None
    ) -> None:
        super().__init__(name, start=start, stop=stop)
        first, last = (0, start) if stop is None else (start, stop)
        if not is_integer(first) or not is_integer(last):
            raise BlockError(self.fault("it is from one integer to another"))
        self._first, last = int(first), int(last)
        if last <= self._first:
            raise BlockIndexError(self.fault(f"no integer lies from {self._first} to {last}"))
        self.of = TensorType((last - self._first,), dtype)
        self.settled()

    def place(self, x: Value) -> int | None:
        last = self._first + self.of.shape[0]
        if not (isinstance(x, int) or is_integer(x)) or not self._first <= int(x) < last:
            raise BlockKeyError(self.fault(f"{shown(x)} is no integer from {self._first} to {last - 1}"))
        return int(x) - self._first


class OneHotFromList(_Places[Hashable]):
    """The basis vector of an element of a list, by its place; not strict, 0 for what is not in it.

    Raises BlockUseError for duplicates in the list, BlockValueError if it is empty, BlockError for what has no hash,
    BlockKeyError, if strict and when built, for what is not in it.
    >>> from wengert import fold as td
    >>> td.OneHotFromList("abc").eval("b").tolist()
    [0.0, 1.0, 0.0]

    Source: TensorFlow Fold, `td.OneHotFromList`.
    """

    def __init__(
        self,
        elements: Iterable[Hashable],
        dtype: object = "float32",
        strict: bool = True,
        name: str | None = None,
    ) -> None:
        listed = list(elements)
        super().__init__(name, elements=listed)
        try:
            self._places = {x: i for i, x in enumerate(listed)}
        except TypeError as error:
            raise BlockError(self.fault(f"what stands in the list is looked up: {error}")) from None
        if len(self._places) < len(listed):
            raise BlockUseError(self.fault("an element is in the list twice"))
        if not listed:
            raise BlockValueError(self.fault("the list is empty"))
        self._strict = strict
        self.of = TensorType((len(listed),), dtype)
        self.settled()

    def place(self, x: Value) -> int | None:
        try:
            place = self._places.get(x)
        except TypeError:  # it has no hash, so it is not in the list
            place = None
        if place is None and self._strict:
            raise BlockKeyError(self.fault(f"{shown(x)} is not in the list; strict=False gives 0 for it"))
        return place
