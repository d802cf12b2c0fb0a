"""Scalar expressions with their operators: doubles and floats, as weights' and layers' bases.

Knows: what a type checker may conclude from Python's operators on scalars, written once for both element types.
Refuses to know: what the operators compute, and who runs a layer.

Nothing here or in `arrays` shows a checker `__array__`, `__len__`, `__bool__` or a comparison: with any of
them numpy's own stubs would take an operator away from us and infer nonsense.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, overload

from typing_extensions import TypeVar

from wengert.arrays import FLOAT32, FLOAT64, Cpu, DType, Dv, Float32, Float64, Floating
from wengert.control import Do
from wengert.differentiable import Differentiable, Tape
from wengert.graph.apply import methods, of_one
from wengert.graph.kinds import Column, Role, kind
from wengert.graph.node import Expression, Node, asked
from wengert.graph.operand import made_from
from wengert.graph.operators import ABS, ADD, DIVIDE, MULTIPLY, NEGATIVE, POW, SUBTRACT

if TYPE_CHECKING:
    from wengert.arrays import ArrayLiteral, T
    from wengert.graph.arrays import ArrayLayer, ArrayOperand

    AnyShape: TypeAlias = ArrayOperand[Any, T, Dv] | ArrayLiteral[T, Dv]  # Any: a scalar fits every shape

# Any, as defaults: where only the element type matters, `ScalarOperand[T]` is enough
N = TypeVar("N", bound=Floating)
X = TypeVar("X", default=Any)
L = TypeVar("L", default=Any)

DoubleExpression: TypeAlias = Differentiable[float, float] | float
FloatExpression: TypeAlias = Differentiable[Float32, Float32] | Float32


class ScalarOperand(Expression, Generic[N, X, L]):
    """A scalar weight or layer: arrays that it scales have elements `N`, its data are `X`, operators give `L`."""

    __slots__ = ()

    if TYPE_CHECKING:  # what a derivative by such an expression is as an expression

        @property
        def _layer(self) -> L: ...

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

    @property
    def forward(self) -> Do[Tape[X, X]]:
        """The tape of this expression, made by whoever runs the `Do`."""
        return asked("forward", self)

    def predict(self) -> Do[X]:
        """The value; no weight changes."""
        return asked("predict", self)

    def train(self) -> Do[X]:
        """The loss before the update; when run, every weight below takes one step."""
        return asked("train", self)

    def as_do(self) -> Do[X]:
        """The value in the run that this is part of: what `await` gives."""
        return asked("value", self)

    def __await__(self) -> Generator[Any, Any, X]:  # Any: what passes between a coroutine and its driver
        return self.as_do().__await__()

    if TYPE_CHECKING:  # Any: typed by the overloads

        def __neg__(self) -> L: ...
        def __abs__(self) -> L: ...
        @overload
        def __add__(self, other: AnyShape[N, Dv], /) -> ArrayLayer[Any, N, Dv]: ...
        @overload
        def __add__(self, other: Differentiable[X, X] | X | float, /) -> L: ...
        def __add__(self, other: Any, /) -> Any: ...
        @overload
        def __radd__(self, other: AnyShape[N, Dv], /) -> ArrayLayer[Any, N, Dv]: ...
        @overload
        def __radd__(self, other: Differentiable[X, X] | X | float, /) -> L: ...
        def __radd__(self, other: Any, /) -> Any: ...
        @overload
        def __sub__(self, other: AnyShape[N, Dv], /) -> ArrayLayer[Any, N, Dv]: ...
        @overload
        def __sub__(self, other: Differentiable[X, X] | X | float, /) -> L: ...
        def __sub__(self, other: Any, /) -> Any: ...
        @overload
        def __rsub__(self, other: AnyShape[N, Dv], /) -> ArrayLayer[Any, N, Dv]: ...
        @overload
        def __rsub__(self, other: Differentiable[X, X] | X | float, /) -> L: ...
        def __rsub__(self, other: Any, /) -> Any: ...
        @overload
        def __mul__(self, other: AnyShape[N, Dv], /) -> ArrayLayer[Any, N, Dv]: ...
        @overload
        def __mul__(self, other: Differentiable[X, X] | X | float, /) -> L: ...
        def __mul__(self, other: Any, /) -> Any: ...
        @overload
        def __rmul__(self, other: AnyShape[N, Dv], /) -> ArrayLayer[Any, N, Dv]: ...
        @overload
        def __rmul__(self, other: Differentiable[X, X] | X | float, /) -> L: ...
        def __rmul__(self, other: Any, /) -> Any: ...
        @overload
        def __truediv__(self, other: AnyShape[N, Dv], /) -> ArrayLayer[Any, N, Dv]: ...
        @overload
        def __truediv__(self, other: Differentiable[X, X] | X | float, /) -> L: ...
        def __truediv__(self, other: Any, /) -> Any: ...
        @overload
        def __rtruediv__(self, other: AnyShape[N, Dv], /) -> ArrayLayer[Any, N, Dv]: ...
        @overload
        def __rtruediv__(self, other: Differentiable[X, X] | X | float, /) -> L: ...
        def __rtruediv__(self, other: Any, /) -> Any: ...
        @overload
        def __pow__(self, other: AnyShape[N, Dv], /) -> ArrayLayer[Any, N, Dv]: ...
        @overload
        def __pow__(self, other: Differentiable[X, X] | X | float, /) -> L: ...
        def __pow__(self, other: Any, /) -> Any: ...
        @overload
        def __rpow__(self, other: AnyShape[N, Dv], /) -> ArrayLayer[Any, N, Dv]: ...
        @overload
        def __rpow__(self, other: Differentiable[X, X] | X | float, /) -> L: ...
        def __rpow__(self, other: Any, /) -> Any: ...

    else:  # functions of `apply`, one frame a node
        __neg__, __abs__ = of_one(NEGATIVE), of_one(ABS)
        __add__, __radd__ = methods(ADD)
        __sub__, __rsub__ = methods(SUBTRACT)
        __mul__, __rmul__ = methods(MULTIPLY)
        __truediv__, __rtruediv__ = methods(DIVIDE)
        __pow__, __rpow__ = methods(POW)


class DoubleOperand(ScalarOperand[Float64, float, "DoubleLayer"]):
    """The operators of doubles: Python's `float`, IEEE binary64."""

    __slots__ = ()


class FloatOperand(ScalarOperand[Float32, Float32, "FloatLayer"]):
    """The operators of floats: `numpy.float32`, IEEE binary32."""

    __slots__ = ()


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
