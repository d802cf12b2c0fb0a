"""Types of what is made of others: tuples, lists, endless repetitions.

Knows: how values of these are taken apart and put together.
Refuses to know: blocks, and how types of blocks are found.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias, final, overload

from wengert.fold.types import ResultType, Value, wrong

Endless = itertools.repeat


@final
class TupleType(ResultType):
    """Of tuples with a fixed number of parts, each with a type of its own.

    >>> from wengert.fold import PyObjectType, VoidType
    >>> len(TupleType(VoidType(), PyObjectType())), TupleType([VoidType()])[0]
    (2, VoidType())
    """

    __slots__ = ("_parts",)

    def __init__(self, *types: ResultType | Iterable[ResultType]) -> None:
        only = types[0] if len(types) == 1 and isinstance(types[0], Iterable) else types
        given: tuple[object, ...] = (only,) if isinstance(only, ResultType) else tuple(only)
        parts = [t for t in given if isinstance(t, ResultType)]
        if len(parts) < len(given):
            raise wrong("TupleType: the parts are types", given)
        self._parts = tuple(parts)

    @property
    def parts(self) -> tuple[ResultType, ...]:
        return self._parts

    @property
    def size(self) -> int | None:
        sizes = [t.size for t in self._parts]
        known = [n for n in sizes if n is not None]
        return sum(known) if len(known) == len(sizes) else None

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[ResultType]:
        return iter(self._parts)

    @overload
    def __getitem__(self, key: int, /) -> ResultType: ...
    @overload
    def __getitem__(self, key: slice, /) -> TupleType: ...
    def __getitem__(self, key: int | slice, /) -> ResultType:
        return TupleType(self._parts[key]) if isinstance(key, slice) else self._parts[key]

    def pieces(self, x: Value) -> Iterable[tuple[ResultType, Value]]:
        return zip(self._parts, x, strict=True)

    def rebuilt(self, terminals: Iterator[Value], like: Value) -> Value:
        return tuple([of.rebuilt(terminals, part) for of, part in self.pieces(like)])

    def _key(self) -> object:
        return self._parts

    def __str__(self) -> str:
        return f"({', '.join(map(str, self._parts))}{',' * (len(self._parts) == 1)})"

    def __repr__(self) -> str:
        return f"TupleType({', '.join(map(repr, self._parts))})"


class SequenceType(ResultType):
    """Of finite lists of any length, whose elements have one type."""

    __slots__ = ("item",)

    def __init__(self, item: ResultType) -> None:
        if not isinstance(item, ResultType):
            raise wrong(f"{type(self).__name__}: the elements have a type", item)
        self.item: Final = item

    @property
    def parts(self) -> tuple[ResultType, ...]:
        return (self.item,)

    @property
    def size(self) -> int | None:
        return None

    def pieces(self, x: Value) -> Iterable[tuple[ResultType, Value]]:
        return [(self.item, part) for part in x]

    def rebuilt(self, terminals: Iterator[Value], like: Value) -> Value:
        return [of.rebuilt(terminals, part) for of, part in self.pieces(like)]

    def _key(self) -> object:
        return self.item

    def __str__(self) -> str:
        return f"list of {self.item}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.item!r})"


@final
class BroadcastSequenceType(SequenceType):
    """Of endless repetitions of one value."""

    __slots__ = ()

    def pieces(self, x: Value) -> Iterable[tuple[ResultType, Value]]:
        return ((self.item, next(x)),)

    def rebuilt(self, terminals: Iterator[Value], like: Value) -> Value:
        return Endless(self.item.rebuilt(terminals, next(like)))

    def __str__(self) -> str:
        return f"endless {self.item}"


Assembler: TypeAlias = Callable[[Iterator[Value]], Value]


def assembler(of: ResultType) -> Assembler:
    """What makes a value of a type without lists from its next terminals; recursive over the type."""
    if isinstance(of, TupleType):
        parts = [assembler(part) for part in of.parts]
        return lambda terminals: tuple([part(terminals) for part in parts])
    return next if of.terminal else lambda terminals: None


def leaf_texts(of: ResultType, x: str) -> list[str]:
    """The code of the terminals in a value of a type without lists; recursive over the type."""
    if isinstance(of, TupleType):
        return [text for i, part in enumerate(of.parts) for text in leaf_texts(part, f"{x}[{i}]")]
    return [x] if of.terminal else []


def value_text(of: ResultType, terminals: Iterator[str]) -> str:
    """The code of a value of a type without lists, of that of its terminals; recursive over the type."""
    if isinstance(of, TupleType):
        return tuple_text([value_text(part, terminals) for part in of.parts])
    return next(terminals) if of.terminal else "None"


def tuple_text(parts: Iterable[str]) -> str:
    """The code of a tuple."""
    return f"({''.join(f'{part}, ' for part in parts)})"
