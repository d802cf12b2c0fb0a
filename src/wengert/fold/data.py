"""Blocks that begin with data: numbers become tensors or basis vectors, anything what a function makes of it.

Knows: which data fit a stated shape and element type, and which place of a basis vector is 1.
Refuses to know: what is computed with them.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final, Literal, Protocol, SupportsFloat, TypeAlias, overload

from wengert.arrays import Float32, Float64, IntegerArray, dtype_of, is_array, is_integer
from wengert.arrays.stated import integer_of, stating
from wengert.errors import (
    BlockIndexError,
    BlockKeyError,
    BlockUseError,
    BlockValueError,
    DTypeError,
    ShapeError,
)
from wengert.fold.block import A, AnyBlock, B
from wengert.fold.calls import Calls, Direct
from wengert.fold.convert import OBJECT, zero_array
from wengert.fold.inference import Solver, Use
from wengert.fold.kinds import Primitive
from wengert.fold.types import TensorType, Value
from wengert.generics import TypeVar
from wengert.graph import ArrayLayer
from wengert.graph.node import new_node
from wengert.graph.operand import LITERAL, array_kind, lift_any, shown

Float32Name: TypeAlias = Literal["float32"] | type[Float32]
Float64Name: TypeAlias = Literal["float64"] | type[Float64]
IntegerName: TypeAlias = Literal["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


class Arraylike(Protocol):
    """An array of some library; a layer is none, because it has no value yet."""

    @property
    def __array__(self) -> Any: ...  # Any: libraries declare different overloads
    def __len__(self) -> int: ...


Row: TypeAlias = Sequence[SupportsFloat] | Arraylike
R = TypeVar("R", covariant=True, default=ArrayLayer)


def reader(of: TensorType, block: AnyBlock) -> Direct:
    """From data to a tensor of that type: a literal made where the block was, or an array where it has integers."""
    shape, state, floating = of.shape, stating(of.dtype), of.floating
    signature = LITERAL.signature((array_kind(zero_array(of)),), ()) if floating else None
    code, offset = block.written

    number = None if floating or shape else integer_of(of.dtype)

    def read(data: Value) -> Value:
        if number is not None and type(data) is int and (found := number(data)) is not None:
            return found
        array = state(data)
        if array is None:
            raise block.error(f"expected {of}; {shown(data)} is not of such numbers", DTypeError)
        if array.shape != shape:
            raise block.error(f"expected {of}; {shown(data)} has shape {array.shape}", ShapeError)
        if signature is None:
            return array
        return new_node(signature.cls, signature.kind, signature, (array,), code, offset)

    return read


def rows_reader(of: TensorType) -> Direct:
    """From a list or an array of data to a table of tensors of that type, as `reader` reads them one by one.

    None where one of them would be refused, or nothing is there: that is said where they are read one by one.
    """
    shape, state, floating = of.shape, stating(of.dtype), of.floating

    def read(data: Value) -> Value:
        if not isinstance(data, list | tuple) and not is_array(data):
            return None
        array = state(data)
        if array is None or not array.size or array.shape[1:] != shape:
            return None
        if floating:
            return lift_any(array)
        same = is_array(data) and dtype_of(data) == array.dtype
        return array if same else None  # others may not fit

    return read


class Data(Primitive[A, R]):
    """The base of blocks that read one tensor from an object."""

    of: TensorType

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "the input", use.input, "data", OBJECT)
        solver.equal(use, "the output", use.output, "what is read", self.of)

    def direct(self, use: Use, calls: Calls) -> Direct:
        return reader(self.of, self)


class Tensor(Data[object, R]):
    """An object, as nested lists of numbers or an array, as a tensor.

    Raises ShapeError for data of another shape and DTypeError for data that are no such numbers, when built.
    >>> from wengert import fold as td
    >>> td.Tensor((2, 2)).eval([[1, 2], [3, 4]]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]

    Source: TensorFlow Fold, `td.Tensor`.
    """

    @overload
    def __init__(
        self: Tensor[ArrayLayer[Any, Float32]],  # Any: the shape, as elsewhere
        shape: Sequence[int],
        dtype: Float32Name = "float32",
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Tensor[ArrayLayer[Any, Float64]],
        shape: Sequence[int],
        dtype: Float64Name,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Tensor[IntegerArray], shape: Sequence[int], dtype: IntegerName, name: str | None = None
    ) -> None: ...
    def __init__(self, shape: Sequence[int], dtype: object = "float32", name: str | None = None) -> None:
        self.of = TensorType(shape, dtype)
        super().__init__(name, shape=self.of.shape, dtype=self.of.dtype)
        self.settled()


class Scalar(Data[SupportsFloat, R]):
    """A number as a tensor of shape (). With an integer dtype it gives an integer array, as a label or an index.

    Raises ShapeError and DTypeError as `Tensor`.
    >>> from wengert import fold as td
    >>> td.Scalar(), td.Scalar().eval(42).item(), td.Scalar("int32").build(3)
    (<td.Scalar dtype='float32'>, 42.0, array(3, dtype=int32))

    Source: TensorFlow Fold, `td.Scalar`.
    """

    @overload
    def __init__(
        self: Scalar[ArrayLayer[tuple[()], Float32]], dtype: Float32Name = "float32", name: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self: Scalar[ArrayLayer[tuple[()], Float64]], dtype: Float64Name, name: str | None = None
    ) -> None: ...
    @overload
    def __init__(self: Scalar[IntegerArray], dtype: IntegerName, name: str | None = None) -> None: ...
    def __init__(self, dtype: object = "float32", name: str | None = None) -> None:
        self.of = TensorType((), dtype)
        super().__init__(name, dtype=self.of.dtype)
        self.settled()


class Vector(Data[Row, R]):
    """A sequence of n numbers as a tensor of shape (n,).

    Raises ShapeError and DTypeError as `Tensor`.
    >>> from wengert import fold as td
    >>> td.Vector(3).eval([1, 2, 3]).tolist()
    [1.0, 2.0, 3.0]

    Source: TensorFlow Fold, `td.Vector`.
    """

    @overload  # Any: the size, which the mypy plugin may put there
    def __init__(
        self: Vector[ArrayLayer[tuple[Any], Float32]],
        size: int,
        dtype: Float32Name = "float32",
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Vector[ArrayLayer[tuple[Any], Float64]], size: int, dtype: Float64Name, name: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self: Vector[IntegerArray], size: int, dtype: IntegerName, name: str | None = None
    ) -> None: ...
    def __init__(self, size: int, dtype: object = "float32", name: str | None = None) -> None:
        self.of = TensorType((size,), dtype)
        super().__init__(name, size=size, dtype=self.of.dtype)
        self.settled()


class InputTransform(Primitive[A, B]):
    """A Python function of data, called when an example is built.

    Raises BlockError if it is not callable, and whatever it raises.
    >>> from wengert import fold as td
    >>> (td.InputTransform(len) >> td.Scalar()).eval("four").item()
    4.0

    Source: TensorFlow Fold, `td.InputTransform`, whose functions have no types.
    """

    def __init__(self, py_fn: Callable[[A], B], name: str | None = None) -> None:
        super().__init__(name, py_fn=py_fn)
        if not callable(py_fn):
            raise self.error("it takes a function of data")
        self._function = py_fn
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "the input", use.input, "data", OBJECT)
        solver.equal(use, "the output", use.output, "data", OBJECT)

    def direct(self, use: Use, calls: Calls) -> Direct:
        return self._function


_KEPT: Final = 256  # vectors of a block: more would be a matrix


class _Basis(Data[A, ArrayLayer[tuple[Any]]]):  # Any: the size
    """A vector that is 1 at the place of the input, and 0 elsewhere."""

    @abstractmethod
    def place(self, x: Value) -> int | None:
        """The place of the 1 for an input; None for nowhere."""

    def direct(self, use: Use, calls: Calls) -> Direct:
        read = reader(self.of, self)

        @functools.lru_cache(_KEPT)  # what is equal is one layer, and is not made again
        def vector(place: int | None) -> Value:
            row = [0] * self.of.shape[0]
            if place is not None:
                row[place] = 1
            return read(row)

        return lambda x: vector(self.place(x))


class OneHot(_Basis[int]):
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
            raise self.error("it is from one integer to another")
        self._first, last = int(first), int(last)
        if last <= self._first:
            raise self.error(f"no integer lies from {self._first} to {last}", BlockIndexError)
        self.of = TensorType((last - self._first,), dtype)
        self.settled()

    def place(self, x: Value) -> int | None:
        last = self._first + self.of.shape[0]
        if not (isinstance(x, int) or is_integer(x)) or not self._first <= int(x) < last:
            raise self.error(f"{shown(x)} is no integer from {self._first} to {last - 1}", BlockKeyError)
        return int(x) - self._first


class OneHotFromList(_Basis[Hashable]):
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
            raise self.error(f"what stands in the list is looked up: {error}") from None
        if len(self._places) < len(listed):
            raise self.error("an element is in the list twice", BlockUseError)
        if not listed:
            raise self.error("the list is empty", BlockValueError)
        self._strict = strict
        self.of = TensorType((len(listed),), dtype)
        self.settled()

    def place(self, x: Value) -> int | None:
        try:
            place = self._places.get(x)
        except TypeError:  # it has no hash, so it is not in the list
            place = None
        if place is None and self._strict:
            raise self.error(f"{shown(x)} is not in the list; strict=False gives 0 for it", BlockKeyError)
        return place
