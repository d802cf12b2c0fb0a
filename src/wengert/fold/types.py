"""What blocks take and give at run time: tensors, nothing, any Python object.

Knows: types as values that can be compared, and how a value of a type is taken apart into its terminals.
Refuses to know: blocks, and how types of blocks are found. Tuples and sequences are in `structures`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeAlias, final

from wengert.arrays import is_integer
from wengert.arrays.stated import dtype_name
from wengert.errors import BlockError
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

    @abstractmethod
    def _key(self) -> object: ...

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResultType) and type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

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

    def _key(self) -> object:
        return None

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
        """Whether a delta can pass."""
        return self.dtype.startswith("float")

    def _key(self) -> object:
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
        """Whether a delta can pass."""
        return self.row.floating

    def of(self, n: int) -> TensorType:
        """The type of a value with n rows."""
        return TensorType((n, *self.row.shape), self.row.dtype)

    def holds(self, of: TensorType | None) -> bool:
        """Whether values of a tensor type are values of this one."""
        return of is not None and of.ndim > 0 and self.of(of.shape[0]) == of

    def _key(self) -> object:
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


def wrong(what: str, got: object) -> BlockError:
    """The error of a type that cannot be made."""
    return BlockError(f"{what}; got {shown(got)}\n  at {user_position()}")
