"""Blocks that begin with data: numbers become tensors, anything becomes what a function makes of it.

Knows: which data fit a stated shape and element type.
Refuses to know: what is computed with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, SupportsFloat, TypeAlias, overload

from typing_extensions import TypeVar

from wengert.arrays import Float32, Float64, IntegerArray
from wengert.arrays.stated import stating
from wengert.errors import (
    BlockError,
    DTypeError,
    ShapeError,
)
from wengert.fold.block import A, AnyBlock, B
from wengert.fold.calls import Calls, Direct
from wengert.fold.convert import OBJECT
from wengert.fold.kinds import Leaf
from wengert.fold.solver import Solver, Use
from wengert.fold.types import TensorType, Value
from wengert.fold.zeros import zero_array
from wengert.graph import ArrayLayer
from wengert.graph.node import new_node
from wengert.graph.operand import LITERAL, array_kind, shown

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

    def read(data: Value) -> Value:
        array = state(data)
        if array is None:
            raise DTypeError(block.fault(f"expected {of}; {shown(data)} is not of such numbers"))
        if array.shape != shape:
            raise ShapeError(block.fault(f"expected {of}; {shown(data)} has shape {array.shape}"))
        if signature is None:
            return array
        return new_node(signature.cls, signature.kind, signature, (array,), code, offset)

    return read


class Data(Leaf[A, R]):
    """What the blocks have in common that read one tensor from an object."""

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
        self: Scalar[ArrayLayer[tuple[()], Float32]],
        dtype: Float32Name = "float32",
        name: str | None = None,
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


class InputTransform(Leaf[A, B]):
    """A Python function of data, called when an example is built.

    Raises BlockError if it is not callable, and whatever it raises.
    >>> from wengert import fold as td
    >>> (td.InputTransform(len) >> td.Scalar()).eval("four").item()
    4.0

    Source: TensorFlow Fold, `td.InputTransform`, whose functions have no types.
    """

    def __init__(self, function: Callable[[A], B], name: str | None = None) -> None:
        super().__init__(name, function=function)
        if not callable(function):
            raise BlockError(self.fault("it takes a function of data"))
        self._function = function
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "the input", use.input, "data", OBJECT)
        solver.equal(use, "the output", use.output, "data", OBJECT)

    def direct(self, use: Use, calls: Calls) -> Direct:
        return self._function
