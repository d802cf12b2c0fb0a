"""Types of what blocks take and give: tensors, nothing, any Python object; tuples, lists, endless repetitions of those.

Knows: types as values that can be compared; how a value of a type is taken apart into its terminals, and put together.
Refuses to know: blocks, and how types of blocks are found.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final, TypeAlias, final, overload

from wengert.arrays import is_integer
from wengert.arrays.stated import dtype_name
from wengert.errors import BlockError, WengertError
from wengert.graph.kinds import refused_dtype
from wengert.graph.operand import shown
from wengert.site import user_position

Value: TypeAlias = Any  # a value of a type that is known when the program runs


class ResultType(ABC):
    """The base of run-time types; equal by value, hashable."""

    __slots__ = ()
    terminal: ClassVar[bool] = False  # whether its values are not taken apart

    @property
    @abstractmethod
    def parts(self) -> tuple[ResultType, ...]:
        """The types that this one is made of."""

    @property
    @abstractmethod
    def size(self) -> int | None:
        """How many scalars a value has; None if not fixed."""

    def key(self) -> object:
        """The value that types of one class are compared by."""
        return self.parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResultType) and type(self) is type(other) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash((type(self), self.key()))

    @abstractmethod
    def pieces(self, x: Value) -> Iterable[tuple[ResultType, Value]]:
        """The parts of a value, each with its type."""

    @abstractmethod
    def rebuilt(self, terminals: Iterator[Value], like: Value) -> Value:
        """A value like another one, of the next terminals; recursive over the type, which a person has written."""

    def terminal_types(self) -> Iterator[ResultType]:
        """Tensors and objects in this type, in pre-order.

        >>> from wengert.fold import TupleType
        >>> [str(t) for t in TupleType(TensorType(()), PyObjectType()).terminal_types()]
        ['float32 ()', 'object']
        """
        todo: list[ResultType] = [self]
        while todo:
            of = todo.pop()
            if of.terminal:
                yield of
            todo.extend(reversed(of.parts))

    def flatten(self, x: Value) -> list[Value]:
        """The terminals of a value, in order.

        >>> from wengert.fold import SequenceType, TupleType
        >>> TupleType(TensorType(()), SequenceType(PyObjectType())).flatten((1.0, ["a", "b"]))
        [1.0, 'a', 'b']
        """
        found: list[Value] = []
        todo: list[tuple[ResultType, Value]] = [(self, x)]
        while todo:
            of, value = todo.pop()
            if of.terminal:
                found.append(value)
            else:
                todo.extend(reversed(list(of.pieces(value))))
        return found

    def unflatten(self, terminals: Iterable[Value], shaped_like: Value) -> Value:
        """A value of the form of another one, with these terminals. Raises BlockError if there are too few.

        >>> from wengert.fold import SequenceType
        >>> SequenceType(TensorType(())).unflatten([7, 8], [1, 2])
        [7, 8]
        """
        try:
            return self.rebuilt(iter(terminals), shaped_like)
        except StopIteration:
            raise wrong(f"{self!r}: there are fewer terminals than it has", shaped_like) from None


class Single(ResultType):
    """A type without parts."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[ResultType, ...]:
        return ()

    @property
    def size(self) -> int | None:
        return None

    def pieces(self, x: Value) -> Iterable[tuple[ResultType, Value]]:
        return ()

    def rebuilt(self, terminals: Iterator[Value], like: Value) -> Value:
        return next(terminals) if self.terminal else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@final
class TensorType(Single):
    """A tensor of one example, without an axis for the batch; a scalar has shape ().

    >>> TensorType((2, 3)), TensorType((2, 3)).size, TensorType((), "int32").ndim
    (TensorType((2, 3), 'float32'), 6, 0)
    """

    __slots__ = ("dtype", "shape")
    terminal = True

    def __init__(self, shape: Sequence[int], dtype: object = "float32") -> None:
        if not isinstance(shape, (tuple, list)) or any(not is_integer(n) or int(n) < 0 for n in shape):
            raise wrong("TensorType: a shape is a tuple or list of integers from 0 on", shape)
        name = dtype_name(dtype)
        if name is None:
            raise wrong("TensorType: a dtype is the name of an element type, as 'float32'", dtype)
        if name.startswith("float") and name not in ("float32", "float64"):
            raise wrong(f"TensorType: a tensor of {refused_dtype(name)}; a dtype is as 'float32'", dtype)
        self.shape = tuple(int(n) for n in shape)
        self.dtype = name

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def floating(self) -> bool:
        """True if it is of floating numbers, so that a delta can pass."""
        return self.dtype.startswith("float")

    def key(self) -> object:
        return self.shape, self.dtype

    def __str__(self) -> str:
        return f"{self.dtype} {self.shape}"

    def __repr__(self) -> str:
        return f"TensorType({self.shape}, {self.dtype!r})"


@final
class StackedType(Single):
    """Of tensors whose first axis is as long as the example's own list; each row has the type `row`.

    >>> str(StackedType(TensorType((3,)))), StackedType(TensorType((3,))).holds(TensorType((7, 3)))
    ('float32 (any, 3)', True)
    """

    __slots__ = ("row",)
    terminal = True

    def __init__(self, row: TensorType) -> None:
        self.row = row

    @property
    def floating(self) -> bool:
        """True if it is of floating numbers, so that a delta can pass."""
        return self.row.floating

    def of(self, n: int) -> TensorType:
        """The type of a value with n rows."""
        return TensorType((n, *self.row.shape), self.row.dtype)

    def holds(self, of: TensorType | None) -> bool:
        """True if values of a tensor type are values of this one."""
        return of is not None and of.ndim > 0 and self.of(of.shape[0]) == of

    def key(self) -> object:
        return self.row

    def __str__(self) -> str:
        sizes = ", ".join(map(str, self.row.shape))
        return f"{self.row.dtype} (any,{' ' * bool(sizes)}{sizes})"

    def __repr__(self) -> str:
        return f"StackedType({self.row!r})"


@final
class VoidType(Single):
    """Of `None`, where there is nothing."""

    __slots__ = ()

    @property
    def size(self) -> int:
        return 0

    def __str__(self) -> str:
        return "nothing"


@final
class PyObjectType(Single):
    """Of any Python object: data that no block has made a tensor of."""

    __slots__ = ()
    terminal = True

    def __str__(self) -> str:
        return "object"


def error_here(text: str, cls: type[WengertError] = BlockError) -> WengertError:
    """An error with the line of the user's code."""
    return cls(f"{text}\n  at {user_position()}")


def wrong(what: str, got: object) -> WengertError:
    """The error of a type that cannot be made."""
    return error_here(f"{what}; got {shown(got)}")


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

    def __str__(self) -> str:
        return f"({', '.join(map(str, self._parts))}{',' * (len(self._parts) == 1)})"

    def __repr__(self) -> str:
        return f"TupleType({', '.join(map(repr, self._parts))})"


class SequenceType(ResultType):
    """Of finite lists of any length, whose elements have one type."""

    __slots__ = ("element_type",)

    def __init__(self, elem_type: ResultType) -> None:
        if not isinstance(elem_type, ResultType):
            raise wrong(f"{type(self).__name__}: the elements have a type", elem_type)
        self.element_type: Final = elem_type

    @property
    def parts(self) -> tuple[ResultType, ...]:
        return (self.element_type,)

    @property
    def size(self) -> int | None:
        return None

    def pieces(self, x: Value) -> Iterable[tuple[ResultType, Value]]:
        return [(self.element_type, part) for part in x]

    def rebuilt(self, terminals: Iterator[Value], like: Value) -> Value:
        return [of.rebuilt(terminals, part) for of, part in self.pieces(like)]

    def __str__(self) -> str:
        return f"list of {self.element_type}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.element_type!r})"


@final
class BroadcastSequenceType(SequenceType):
    """Of endless repetitions of one value."""

    __slots__ = ()

    def pieces(self, x: Value) -> Iterable[tuple[ResultType, Value]]:
        return ((self.element_type, next(x)),)

    def rebuilt(self, terminals: Iterator[Value], like: Value) -> Value:
        return Endless(self.element_type.rebuilt(terminals, next(like)))

    def __str__(self) -> str:
        return f"endless {self.element_type}"


Assembler: TypeAlias = Callable[[Iterator[Value]], Value]


def assembler(of: ResultType) -> Assembler:
    """The function that makes a value of a type without lists of its next terminals; recursive over the type."""
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
