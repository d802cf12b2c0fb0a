"""What blocks take and give at run time: tensors, nothing, any Python object, tuples, sequences.

Knows: types as values that can be compared, and how a value of a type is taken apart into its terminals.
Refuses to know: blocks, and how types of blocks are found.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias, final, overload

from wengert.arrays import is_integer
from wengert.arrays.stated import dtype_name
from wengert.errors import BlockError
from wengert.graph.operand import shown
from wengert.graph.site import user_position

Value: TypeAlias = Any  # a value of a type that is known when the program runs
Endless = itertools.repeat


class ResultType(ABC):
    """The base of run-time types; equal by value, hashable."""

    __slots__ = ()

    @property
    @abstractmethod
    def parts(self) -> tuple[ResultType, ...]:
        """The types that this one is made of."""

    @property
    @abstractmethod
    def size(self) -> int | None:
        """How many scalars a value has; None if not fixed."""

    @abstractmethod
    def _key(self) -> object: ...

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResultType) and type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    @abstractmethod
    def open(self, x: Value) -> Iterable[Value]:
        """The parts of a value, each of the type in `parts` at its place, or of the only one."""

    def terminal_types(self) -> Iterator[ResultType]:
        """Tensors and objects in this type, in pre-order.

        >>> [str(t) for t in TupleType(TensorType(()), PyObjectType()).terminal_types()]
        ['float32 ()', 'object']
        """
        todo: list[ResultType] = [self]
        while todo:
            of = todo.pop()
            if isinstance(of, (TensorType, PyObjectType)):
                yield of
            todo.extend(reversed(of.parts))

    def flatten(self, x: Value) -> list[Value]:
        """The terminals of a value, in order.

        >>> TupleType(TensorType(()), SequenceType(PyObjectType())).flatten((1.0, ["a", "b"]))
        [1.0, 'a', 'b']
        """
        found: list[Value] = []
        todo: list[tuple[ResultType, Value]] = [(self, x)]
        while todo:
            of, value = todo.pop()
            if isinstance(of, (TensorType, PyObjectType)):
                found.append(value)
            elif of.parts:
                parts = list(of.open(value))
                types = of.parts * len(parts) if isinstance(of, SequenceType) else of.parts
                todo.extend(reversed(list(zip(types, parts, strict=True))))
        return found

    def unflatten(self, terminals: Iterable[Value], shaped_like: Value) -> Value:
        """A value of the form of another one, with these terminals.

        >>> SequenceType(TensorType(())).unflatten([7, 8], [1, 2])
        [7, 8]
        """
        return _rebuilt(self, iter(terminals), shaped_like)


def _rebuilt(of: ResultType, terminals: Iterator[Value], like: Value) -> Value:
    """Recursive over the type, which a person has written; data nest deep, types do not."""
    if isinstance(of, (TensorType, PyObjectType)):
        return next(terminals)
    if isinstance(of, BroadcastSequenceType):
        return Endless(_rebuilt(of.item, terminals, next(like)))
    if isinstance(of, SequenceType):
        return [_rebuilt(of.item, terminals, x) for x in like]
    if isinstance(of, TupleType):
        return tuple(_rebuilt(t, terminals, x) for t, x in zip(of.parts, like, strict=True))
    return None


@final
class TensorType(ResultType):
    """A tensor of one example, without an axis for the batch; a scalar has shape ().

    >>> TensorType((2, 3)), TensorType((2, 3)).size, TensorType((), "int32").ndim
    (TensorType((2, 3), 'float32'), 6, 0)
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Sequence[int], dtype: object = "float32") -> None:
        if not isinstance(shape, (tuple, list)) or any(not is_integer(n) or int(n) < 0 for n in shape):
            raise _wrong("TensorType: a shape is a tuple or list of integers from 0 on", shape)
        name = dtype_name(dtype)
        if name is None:
            raise _wrong("TensorType: a dtype is the name of an element type, as 'float32'", dtype)
        self.shape = tuple(int(n) for n in shape)
        self.dtype = name

    @property
    def parts(self) -> tuple[ResultType, ...]:
        return ()

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def floating(self) -> bool:
        """Whether a delta can pass."""
        return self.dtype.startswith("float")

    def open(self, x: Value) -> Iterable[Value]:
        return ()

    def _key(self) -> object:
        return self.shape, self.dtype

    def __str__(self) -> str:
        return f"{self.dtype} {self.shape}"

    def __repr__(self) -> str:
        return f"TensorType({self.shape}, {self.dtype!r})"


class _Single(ResultType):
    """A type that has one value for itself."""

    __slots__ = ()
    text = ""

    @property
    def parts(self) -> tuple[ResultType, ...]:
        return ()

    @property
    def size(self) -> int | None:
        return None

    def open(self, x: Value) -> Iterable[Value]:
        return ()

    def _key(self) -> object:
        return None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@final
class VoidType(_Single):
    """Of `None`, where there is nothing."""

    __slots__ = ()
    text = "nothing"

    @property
    def size(self) -> int:
        return 0


@final
class PyObjectType(_Single):
    """Of any Python object: data that no block has made a tensor of."""

    __slots__ = ()
    text = "object"


@final
class TupleType(ResultType):
    """Of tuples with a fixed number of parts, each with a type of its own.

    >>> len(TupleType(VoidType(), PyObjectType())), TupleType([VoidType()])[0]
    (2, VoidType())
    """

    __slots__ = ("_parts",)

    def __init__(self, *types: ResultType | Iterable[ResultType]) -> None:
        only = types[0] if len(types) == 1 and isinstance(types[0], Iterable) else types
        given: tuple[object, ...] = (only,) if isinstance(only, ResultType) else tuple(only)
        parts = [t for t in given if isinstance(t, ResultType)]
        if len(parts) < len(given):
            raise _wrong("TupleType: the parts are types", given)
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

    def open(self, x: Value) -> Iterable[Value]:
        parts: Iterable[Value] = x
        return parts

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
            raise _wrong(f"{type(self).__name__}: the elements have a type", item)
        self.item: Final = item

    @property
    def parts(self) -> tuple[ResultType, ...]:
        return (self.item,)

    @property
    def size(self) -> int | None:
        return None

    def open(self, x: Value) -> Iterable[Value]:
        parts: Iterable[Value] = x
        return parts

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

    def open(self, x: Value) -> Iterable[Value]:
        return (next(x),)

    def __str__(self) -> str:
        return f"endless {self.item}"


def _wrong(what: str, got: object) -> BlockError:
    return BlockError(f"{what}; got {shown(got)}\n  at {user_position()}")
