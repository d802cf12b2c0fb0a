"""Expressions with their operators: scalars of two element types and n-d arrays, as weights' and layers' bases.

Knows: the table of differentiable types and what a type checker may conclude from Python's operators.
Refuses to know: what the operators compute, and who runs a layer.

Nothing here shows a checker `__array__`, `__len__`, `__bool__` or a comparison: with any of them numpy's own
stubs would take an operator away from us and infer nonsense.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Generic, TypeAlias, TypeVar, cast, overload

from wengert.arrays import (
    FLOAT32,
    FLOAT64,
    Array,
    ArrayLiteral,
    Bool,
    Cpu,
    DType,
    Dv,
    Float32,
    Float64,
    Floating,
    Gpu,
    GpuArray,
    Host,
    HostArray,
    HostMask,
    S,
    T,
)
from wengert.control import Do
from wengert.differentiable import Differentiable, Tape
from wengert.graph.apply import apply, binary, unary
from wengert.graph.index import index_of
from wengert.graph.kinds import Column, Role, kind
from wengert.graph.node import CLASSES, Expression, Node, asked
from wengert.graph.operand import made_from
from wengert.graph.operators import ABS, ADD, DIVIDE, GETITEM, MATMUL, MULTIPLY, NEGATIVE, POW, SUBTRACT

N = TypeVar("N", bound=Floating)
D = TypeVar("D")
E = TypeVar("E")

DoubleExpression: TypeAlias = Differentiable[float, float] | float
FloatExpression: TypeAlias = Differentiable[Float32, Float32] | Float32


class ScalarOperand(Expression, Generic[N]):
    """A scalar weight or layer; `N` is the element type of the arrays that it scales."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[()]:
        return ()

    @property
    def dtype(self) -> DType[N]:
        dtype: DType[N] = self._dtype
        return dtype

    @property
    def device(self) -> Cpu:
        return "cpu"


class DoubleOperand(ScalarOperand[Float64]):
    """The operators of doubles: Python's `float`, IEEE binary64."""

    __slots__ = ()

    @property
    def forward(self) -> Do[Tape[float, float]]:
        """The tape of this expression, made by whoever runs the `Do`."""
        return asked("forward", self)

    def predict(self) -> Do[float]:
        """The value; no weight changes."""
        return asked("predict", self)

    def train(self) -> Do[float]:
        """The loss before the update; when run, every weight below takes one step."""
        return asked("train", self)

    def as_do(self) -> Do[float]:
        """The value in the run that this is part of: what `await` gives."""
        return asked("value", self)

    def __await__(self) -> Generator[Any, Any, float]:  # Any: what passes between a coroutine and its driver
        return self.as_do().__await__()

    def __neg__(self) -> DoubleLayer:
        layer: DoubleLayer = unary(NEGATIVE, self)
        return layer

    def __abs__(self) -> DoubleLayer:
        layer: DoubleLayer = unary(ABS, self)
        return layer

    @overload
    def __add__(
        self, other: ArrayOperand[Any, Float64, Dv] | ArrayLiteral[Float64, Dv], /
    ) -> ArrayLayer[Any, Float64, Dv]: ...
    @overload
    def __add__(self, other: DoubleExpression, /) -> DoubleLayer: ...
    def __add__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(ADD, self, other)

    @overload
    def __radd__(
        self, other: ArrayOperand[Any, Float64, Dv] | ArrayLiteral[Float64, Dv], /
    ) -> ArrayLayer[Any, Float64, Dv]: ...
    @overload
    def __radd__(self, other: DoubleExpression, /) -> DoubleLayer: ...
    def __radd__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(ADD, other, self)

    @overload
    def __sub__(
        self, other: ArrayOperand[Any, Float64, Dv] | ArrayLiteral[Float64, Dv], /
    ) -> ArrayLayer[Any, Float64, Dv]: ...
    @overload
    def __sub__(self, other: DoubleExpression, /) -> DoubleLayer: ...
    def __sub__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(SUBTRACT, self, other)

    @overload
    def __rsub__(
        self, other: ArrayOperand[Any, Float64, Dv] | ArrayLiteral[Float64, Dv], /
    ) -> ArrayLayer[Any, Float64, Dv]: ...
    @overload
    def __rsub__(self, other: DoubleExpression, /) -> DoubleLayer: ...
    def __rsub__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(SUBTRACT, other, self)

    @overload
    def __mul__(
        self, other: ArrayOperand[Any, Float64, Dv] | ArrayLiteral[Float64, Dv], /
    ) -> ArrayLayer[Any, Float64, Dv]: ...
    @overload
    def __mul__(self, other: DoubleExpression, /) -> DoubleLayer: ...
    def __mul__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(MULTIPLY, self, other)

    @overload
    def __rmul__(
        self, other: ArrayOperand[Any, Float64, Dv] | ArrayLiteral[Float64, Dv], /
    ) -> ArrayLayer[Any, Float64, Dv]: ...
    @overload
    def __rmul__(self, other: DoubleExpression, /) -> DoubleLayer: ...
    def __rmul__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(MULTIPLY, other, self)

    @overload
    def __truediv__(
        self, other: ArrayOperand[Any, Float64, Dv] | ArrayLiteral[Float64, Dv], /
    ) -> ArrayLayer[Any, Float64, Dv]: ...
    @overload
    def __truediv__(self, other: DoubleExpression, /) -> DoubleLayer: ...
    def __truediv__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(DIVIDE, self, other)

    @overload
    def __rtruediv__(
        self, other: ArrayOperand[Any, Float64, Dv] | ArrayLiteral[Float64, Dv], /
    ) -> ArrayLayer[Any, Float64, Dv]: ...
    @overload
    def __rtruediv__(self, other: DoubleExpression, /) -> DoubleLayer: ...
    def __rtruediv__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(DIVIDE, other, self)

    @overload
    def __pow__(
        self, other: ArrayOperand[Any, Float64, Dv] | ArrayLiteral[Float64, Dv], /
    ) -> ArrayLayer[Any, Float64, Dv]: ...
    @overload
    def __pow__(self, other: DoubleExpression, /) -> DoubleLayer: ...
    def __pow__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(POW, self, other)

    @overload
    def __rpow__(
        self, other: ArrayOperand[Any, Float64, Dv] | ArrayLiteral[Float64, Dv], /
    ) -> ArrayLayer[Any, Float64, Dv]: ...
    @overload
    def __rpow__(self, other: DoubleExpression, /) -> DoubleLayer: ...
    def __rpow__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(POW, other, self)


class FloatOperand(ScalarOperand[Float32]):
    """The operators of floats: `numpy.float32`, IEEE binary32."""

    __slots__ = ()

    @property
    def forward(self) -> Do[Tape[Float32, Float32]]:
        """The tape of this expression, made by whoever runs the `Do`."""
        return asked("forward", self)

    def predict(self) -> Do[Float32]:
        """The value; no weight changes."""
        return asked("predict", self)

    def train(self) -> Do[Float32]:
        """The loss before the update; when run, every weight below takes one step."""
        return asked("train", self)

    def as_do(self) -> Do[Float32]:
        """The value in the run that this is part of: what `await` gives."""
        return asked("value", self)

    def __await__(
        self,
    ) -> Generator[Any, Any, Float32]:  # Any: what passes between a coroutine and its driver
        return self.as_do().__await__()

    def __neg__(self) -> FloatLayer:
        layer: FloatLayer = unary(NEGATIVE, self)
        return layer

    def __abs__(self) -> FloatLayer:
        layer: FloatLayer = unary(ABS, self)
        return layer

    @overload
    def __add__(
        self, other: ArrayOperand[Any, Float32, Dv] | ArrayLiteral[Float32, Dv], /
    ) -> ArrayLayer[Any, Float32, Dv]: ...
    @overload
    def __add__(self, other: FloatExpression | float, /) -> FloatLayer: ...
    def __add__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(ADD, self, other)

    @overload
    def __radd__(
        self, other: ArrayOperand[Any, Float32, Dv] | ArrayLiteral[Float32, Dv], /
    ) -> ArrayLayer[Any, Float32, Dv]: ...
    @overload
    def __radd__(self, other: FloatExpression | float, /) -> FloatLayer: ...
    def __radd__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(ADD, other, self)

    @overload
    def __sub__(
        self, other: ArrayOperand[Any, Float32, Dv] | ArrayLiteral[Float32, Dv], /
    ) -> ArrayLayer[Any, Float32, Dv]: ...
    @overload
    def __sub__(self, other: FloatExpression | float, /) -> FloatLayer: ...
    def __sub__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(SUBTRACT, self, other)

    @overload
    def __rsub__(
        self, other: ArrayOperand[Any, Float32, Dv] | ArrayLiteral[Float32, Dv], /
    ) -> ArrayLayer[Any, Float32, Dv]: ...
    @overload
    def __rsub__(self, other: FloatExpression | float, /) -> FloatLayer: ...
    def __rsub__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(SUBTRACT, other, self)

    @overload
    def __mul__(
        self, other: ArrayOperand[Any, Float32, Dv] | ArrayLiteral[Float32, Dv], /
    ) -> ArrayLayer[Any, Float32, Dv]: ...
    @overload
    def __mul__(self, other: FloatExpression | float, /) -> FloatLayer: ...
    def __mul__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(MULTIPLY, self, other)

    @overload
    def __rmul__(
        self, other: ArrayOperand[Any, Float32, Dv] | ArrayLiteral[Float32, Dv], /
    ) -> ArrayLayer[Any, Float32, Dv]: ...
    @overload
    def __rmul__(self, other: FloatExpression | float, /) -> FloatLayer: ...
    def __rmul__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(MULTIPLY, other, self)

    @overload
    def __truediv__(
        self, other: ArrayOperand[Any, Float32, Dv] | ArrayLiteral[Float32, Dv], /
    ) -> ArrayLayer[Any, Float32, Dv]: ...
    @overload
    def __truediv__(self, other: FloatExpression | float, /) -> FloatLayer: ...
    def __truediv__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(DIVIDE, self, other)

    @overload
    def __rtruediv__(
        self, other: ArrayOperand[Any, Float32, Dv] | ArrayLiteral[Float32, Dv], /
    ) -> ArrayLayer[Any, Float32, Dv]: ...
    @overload
    def __rtruediv__(self, other: FloatExpression | float, /) -> FloatLayer: ...
    def __rtruediv__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(DIVIDE, other, self)

    @overload
    def __pow__(
        self, other: ArrayOperand[Any, Float32, Dv] | ArrayLiteral[Float32, Dv], /
    ) -> ArrayLayer[Any, Float32, Dv]: ...
    @overload
    def __pow__(self, other: FloatExpression | float, /) -> FloatLayer: ...
    def __pow__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(POW, self, other)

    @overload
    def __rpow__(
        self, other: ArrayOperand[Any, Float32, Dv] | ArrayLiteral[Float32, Dv], /
    ) -> ArrayLayer[Any, Float32, Dv]: ...
    @overload
    def __rpow__(self, other: FloatExpression | float, /) -> FloatLayer: ...
    def __rpow__(self, other: Any, /) -> Any:  # Any: typed by the overloads
        return binary(POW, other, self)


class ArrayOperand(Expression, Generic[S, T, Dv]):
    """The operators of n-d arrays of shape `S`, element type `T`, on device `Dv`.

    Invariant in all three: a covariant shape would let two inner dimensions meet as `int` and agree.
    """

    __slots__ = ()

    @property
    def shape(self) -> S:
        shape: S = cast(Any, self._shape)  # Any: `S` says the same, dimension by dimension
        return shape

    @property
    def dtype(self) -> DType[T]:
        dtype: DType[T] = self._dtype
        return dtype

    @property
    def device(self) -> Dv:
        device: Dv = self._device
        return device

    @property
    def forward(self) -> Do[Tape[Array[S, T, Dv], Array[S, T, Dv]]]:
        """The tape of this expression, made by whoever runs the `Do`."""
        return asked("forward", self)

    @overload
    def predict(self: ArrayOperand[S, T, Cpu]) -> Do[HostArray[S, T]]: ...
    @overload
    def predict(self: ArrayOperand[S, T, Gpu]) -> Do[GpuArray[S, T]]: ...
    def predict(self) -> Do[Any]:  # Any: typed by the overloads
        """The value, a new array; no weight changes."""
        return asked("predict", self)

    @overload
    def train(self: ArrayOperand[tuple[()], T, Cpu]) -> Do[HostArray[tuple[()], T]]: ...
    @overload
    def train(self: ArrayOperand[tuple[()], T, Gpu]) -> Do[GpuArray[tuple[()], T]]: ...
    def train(self) -> Do[Any]:  # Any: typed by the overloads
        """The loss before the update, for arrays of shape `()`; every weight below takes one step."""
        return asked("train", self)

    @overload
    def as_do(self: ArrayOperand[S, T, Cpu]) -> Do[HostArray[S, T]]: ...
    @overload
    def as_do(self: ArrayOperand[S, T, Gpu]) -> Do[GpuArray[S, T]]: ...
    def as_do(self) -> Do[Any]:  # Any: typed by the overloads
        """The value in the run that this is part of: what `await` gives."""
        return asked("value", self)

    # Any in both: what passes between a coroutine and its driver
    @overload
    def __await__(self: ArrayOperand[S, T, Cpu]) -> Generator[Any, Any, HostArray[S, T]]: ...
    @overload
    def __await__(self: ArrayOperand[S, T, Gpu]) -> Generator[Any, Any, GpuArray[S, T]]: ...
    def __await__(self) -> Generator[Any, Any, Any]:
        return asked("value", self).__await__()

    def __neg__(self) -> ArrayLayer[S, T, Dv]:
        layer: ArrayLayer[S, T, Dv] = unary(NEGATIVE, self)
        return layer

    def __abs__(self) -> ArrayLayer[S, T, Dv]:
        layer: ArrayLayer[S, T, Dv] = unary(ABS, self)
        return layer

    def __getitem__(self, key: Index, /) -> ArrayLayer[Any, T, Dv]:
        operands, static = index_of(self, key)
        layer: ArrayLayer[Any, T, Dv] = apply(GETITEM, operands, (("key", static),))
        return layer

    def __add__(
        self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
    ) -> ArrayLayer[Any, T, Dv]:
        layer: ArrayLayer[Any, T, Dv] = binary(ADD, self, other)
        return layer

    def __radd__(
        self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
    ) -> ArrayLayer[Any, T, Dv]:
        layer: ArrayLayer[Any, T, Dv] = binary(ADD, other, self)
        return layer

    def __sub__(
        self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
    ) -> ArrayLayer[Any, T, Dv]:
        layer: ArrayLayer[Any, T, Dv] = binary(SUBTRACT, self, other)
        return layer

    def __rsub__(
        self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
    ) -> ArrayLayer[Any, T, Dv]:
        layer: ArrayLayer[Any, T, Dv] = binary(SUBTRACT, other, self)
        return layer

    def __mul__(
        self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
    ) -> ArrayLayer[Any, T, Dv]:
        layer: ArrayLayer[Any, T, Dv] = binary(MULTIPLY, self, other)
        return layer

    def __rmul__(
        self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
    ) -> ArrayLayer[Any, T, Dv]:
        layer: ArrayLayer[Any, T, Dv] = binary(MULTIPLY, other, self)
        return layer

    def __truediv__(
        self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
    ) -> ArrayLayer[Any, T, Dv]:
        layer: ArrayLayer[Any, T, Dv] = binary(DIVIDE, self, other)
        return layer

    def __rtruediv__(
        self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
    ) -> ArrayLayer[Any, T, Dv]:
        layer: ArrayLayer[Any, T, Dv] = binary(DIVIDE, other, self)
        return layer

    def __pow__(
        self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
    ) -> ArrayLayer[Any, T, Dv]:
        layer: ArrayLayer[Any, T, Dv] = binary(POW, self, other)
        return layer

    def __rpow__(
        self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
    ) -> ArrayLayer[Any, T, Dv]:
        layer: ArrayLayer[Any, T, Dv] = binary(POW, other, self)
        return layer

    def __matmul__(self, other: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
        layer: ArrayLayer[Any, T, Dv] = binary(MATMUL, self, other)
        return layer

    def __rmatmul__(self, other: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
        layer: ArrayLayer[Any, T, Dv] = binary(MATMUL, other, self)
        return layer


# Any: array data of users' own classes carry no shape that a checker could compare
ArrayExpression: TypeAlias = ArrayOperand[S, T, Dv] | ArrayLiteral[T, Dv] | Differentiable[Host[T], Host[T]]
Index: TypeAlias = "Any"  # numpy's index protocol has no public type; the shape rule checks it


class DoubleLayer(DoubleOperand, Node):
    """A double that some operation, or the given `Do` of a tape, will make."""

    __slots__ = ()

    def __new__(cls, do: Do[Tape[float, float]]) -> DoubleLayer:
        return made_from(cls, do, kind(Column.DOUBLE, (), FLOAT64, "cpu", Role.LAYER))


class FloatLayer(FloatOperand, Node):
    """A float that some operation, or the given `Do` of a tape, will make."""

    __slots__ = ()

    def __new__(cls, do: Do[Tape[Float32, Float32]]) -> FloatLayer:
        return made_from(cls, do, kind(Column.FLOAT, (), FLOAT32, "cpu", Role.LAYER))


class ArrayLayer(ArrayOperand[S, T, Dv], Node, Generic[S, T, Dv]):
    """An array that some operation, or the given `Do` of a tape, will make."""

    __slots__ = ()

    @overload  # a tape put together by hand, whose backward computes with numpy's arrays
    def __new__(cls, do: Do[Tape[HostArray[S, T], HostArray[S, T]]]) -> ArrayLayer[S, T, Cpu]: ...
    @overload
    def __new__(cls, do: Do[Tape[Array[S, T, Dv], Array[S, T, Dv]]]) -> ArrayLayer[S, T, Dv]: ...
    def __new__(cls, do: Any) -> Any:  # Any: typed by the overloads
        return made_from(cls, do, kind(Column.ARRAY, None, None, "cpu", Role.LAYER))


class Mask(Node, Generic[S, Dv]):
    """Booleans that a comparison will make: for `where` and `sum`, without a delta and without `forward`."""

    __slots__ = ()

    @property
    def shape(self) -> S:
        shape: S = cast(Any, self._shape)  # Any: `S` says the same, dimension by dimension
        return shape

    @property
    def device(self) -> Dv:
        device: Dv = self._device
        return device

    @overload
    def predict(self: Mask[S, Cpu]) -> Do[HostMask[S]]: ...
    @overload
    def predict(self: Mask[S, Gpu]) -> Do[Any]: ...  # Any: cupy's boolean array
    def predict(self) -> Do[Any]:  # Any: typed by the overloads
        """The booleans."""
        return asked("predict", self)

    @property
    def dtype(self) -> DType[Bool]:
        dtype: DType[Bool] = self._dtype
        return dtype

    def as_do(self) -> Do[HostMask[S]]:
        """The booleans in the run that this is part of: what `await` gives."""
        return asked("value", self)

    def __await__(self) -> Generator[Any, Any, HostMask[S]]:  # Any: as above
        return self.as_do().__await__()


class Layer(Node, Generic[D, E]):
    """Data of a registered type that is neither a scalar nor an array of the table."""

    __slots__ = ()

    @property
    def forward(self) -> Do[Tape[D, E]]:
        """The tape of this expression, made by whoever runs the `Do`."""
        return asked("forward", self)

    def predict(self) -> Do[D]:
        """The value; no weight changes."""
        return asked("predict", self)

    def as_do(self) -> Do[D]:
        """The value in the run that this is part of: what `await` gives."""
        return asked("value", self)

    def __await__(self) -> Generator[Any, Any, D]:  # Any: what passes between a coroutine and its driver
        return self.as_do().__await__()


CLASSES.update(
    {
        Column.NUMBER: DoubleLayer,
        Column.DOUBLE: DoubleLayer,
        Column.FLOAT: FloatLayer,
        Column.ARRAY: ArrayLayer,
        Column.MASK: Mask,
        Column.OTHER: Layer,
    }
)
