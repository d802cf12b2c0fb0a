"""Array expressions with their operators, as weights' and layers' base.

Knows: what a type checker may conclude from Python's operators on n-d arrays.
Refuses to know: what the operators compute, who runs a layer, and shapes: the mypy plugin puts them in.
"""

from __future__ import annotations

from collections.abc import Generator
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, cast, overload

from wengert.arrays import Array, ArrayLiteral, Cpu, DType, Dv, Gpu, GpuArray, Host, HostArray, Integers, S, T
from wengert.control import Do
from wengert.differentiable import Differentiable, Tape
from wengert.graph.apply import apply, methods, of_one
from wengert.graph.index import index_of
from wengert.graph.kinds import Column, Role, kind
from wengert.graph.node import Expression, Node, asked
from wengert.graph.operand import made_from
from wengert.graph.operators import ABS, ADD, DIVIDE, GETITEM, MATMUL, MULTIPLY, NEGATIVE, POW, SUBTRACT
from wengert.graph.scalars import ScalarOperand


class ArrayOperand(Expression, Generic[S, T, Dv]):
    """The operators of n-d arrays of shape `S`, element type `T`, on device `Dv`.

    Invariant in all three: a covariant shape would let two inner dimensions meet as `int` and agree.
    """

    __slots__ = ()

    if TYPE_CHECKING:  # what a derivative by such an expression is as an expression

        @property
        def _layer(self) -> ArrayLayer[S, T, Dv]: ...

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

    def __getitem__(self, key: Index, /) -> ArrayLayer[Any, T, Dv]:
        operands, static = index_of(self, key)
        layer: ArrayLayer[Any, T, Dv] = apply(GETITEM, operands, (("key", static),))
        return layer

    if TYPE_CHECKING:

        def __neg__(self) -> ArrayLayer[S, T, Dv]: ...
        def __abs__(self) -> ArrayLayer[S, T, Dv]: ...
        def __add__(
            self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
        ) -> ArrayLayer[Any, T, Dv]: ...
        def __radd__(
            self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
        ) -> ArrayLayer[Any, T, Dv]: ...
        def __sub__(
            self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
        ) -> ArrayLayer[Any, T, Dv]: ...
        def __rsub__(
            self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
        ) -> ArrayLayer[Any, T, Dv]: ...
        def __mul__(
            self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
        ) -> ArrayLayer[Any, T, Dv]: ...
        def __rmul__(
            self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
        ) -> ArrayLayer[Any, T, Dv]: ...
        def __truediv__(
            self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
        ) -> ArrayLayer[Any, T, Dv]: ...
        def __rtruediv__(
            self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
        ) -> ArrayLayer[Any, T, Dv]: ...
        def __pow__(
            self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
        ) -> ArrayLayer[Any, T, Dv]: ...
        def __rpow__(
            self, other: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
        ) -> ArrayLayer[Any, T, Dv]: ...
        def __matmul__(self, other: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...
        def __rmatmul__(self, other: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...

    else:  # functions of `apply`, one frame a node
        __neg__, __abs__ = of_one(NEGATIVE), of_one(ABS)
        __add__, __radd__ = methods(ADD)
        __sub__, __rsub__ = methods(SUBTRACT)
        __mul__, __rmul__ = methods(MULTIPLY)
        __truediv__, __rtruediv__ = methods(DIVIDE)
        __pow__, __rpow__ = methods(POW)
        __matmul__, __rmatmul__ = methods(MATMUL)


# Any: array data of users' own classes carry no shape that a checker could compare
ArrayExpression: TypeAlias = ArrayOperand[S, T, Dv] | ArrayLiteral[T, Dv] | Differentiable[Host[T], Host[T]]
IndexPart: TypeAlias = Integers | slice | EllipsisType | None
Index: TypeAlias = IndexPart | tuple[IndexPart, ...]


class ArrayLayer(ArrayOperand[S, T, Dv], Node, Generic[S, T, Dv]):
    """An array that some operation, or the given `Do` of a tape, will make."""

    __slots__ = ()

    @overload  # a tape put together by hand, whose backward computes with numpy's arrays
    def __new__(cls, do: Do[Tape[HostArray[S, T], HostArray[S, T]]]) -> ArrayLayer[S, T, Cpu]: ...
    @overload
    def __new__(cls, do: Do[Tape[Array[S, T, Dv], Array[S, T, Dv]]]) -> ArrayLayer[S, T, Dv]: ...
    def __new__(cls, do: Any) -> Any:  # Any: typed by the overloads
        return made_from(cls, do, kind(Column.ARRAY, None, None, "cpu", Role.LAYER))
