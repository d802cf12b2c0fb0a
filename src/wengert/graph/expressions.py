"""Layers and their operators: doubles, floats, arrays and registered data, the table of differentiable types.

Knows: what a type checker may conclude from Python's operators; the layer class of every column.
Refuses to know: what the operators compute, who runs a layer, and shapes: the mypy plugin puts them in.

Nothing here shows a checker `__array__`, `__len__`, `__bool__` or a comparison: with any of them numpy's own stubs
would take an operator away from us and infer nonsense.
"""

from __future__ import annotations

from collections.abc import Generator
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Generic, Literal, Never, Protocol, TypeAlias, cast, overload

from wengert.arrays import (
    FLOAT32,
    FLOAT64,
    Array,
    ArrayLiteral,
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
from wengert.elsewhere import Elsewhere
from wengert.generics import TypeVar
from wengert.graph.answers import Inner, NamedFields, Structure, Values
from wengert.graph.apply import apply, methods, of_one
from wengert.graph.binding import Data
from wengert.graph.binding import at as bound_to
from wengert.graph.detached import IndexExpression
from wengert.graph.index import index_of
from wengert.graph.kinds import CLASSES, Column, Role, kind
from wengert.graph.node import Expression, Node, asked
from wengert.graph.operand import LITERAL, made_from
from wengert.graph.operators import (
    ABS,
    ADD,
    DIVIDE,
    GETITEM,
    MATMUL,
    MULTIPLY,
    NEGATIVE,
    POW,
    REMAINDER,
    SUBTRACT,
)
from wengert.graph.products import with_also

if TYPE_CHECKING:  # Any: a scalar fits every shape
    from wengert.graph.operators import (
        Adds,
        Contracts,
        Divides,
        HasAbs,
        IsAdded,
        IsMultiplied,
        IsSubtracted,
        LeavesRemainder,
        Multiplies,
        Negates,
        Raises,
        Subtracts,
    )

    AnyShape: TypeAlias = "ArrayOperand[Any, T, Dv] | ArrayLiteral[T, Dv]"
    Beside: TypeAlias = (
        "ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float"  # of an array, in an operator
    )

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
Z = TypeVar("Z")
P = TypeVar("P", covariant=True)
M = TypeVar("M", bound=Structure)
F = TypeVar("F", bound=NamedFields)
D = TypeVar("D")
E = TypeVar("E")
O = TypeVar("O")
Y = TypeVar("Y")
# Any, as defaults: where only the element type matters, `ScalarOperand[T]` is enough
N = TypeVar("N", bound=Floating)
# a shape: of data and of deltas, so that it is invariant
U = TypeVar("U", bound=tuple[int, ...], default=Any)
X = TypeVar("X", default=Any)
L = TypeVar("L", default=Any)

DoubleExpression: TypeAlias = Differentiable[float, float] | float
FloatExpression: TypeAlias = Differentiable[Float32, Float32] | Float32
Operand: TypeAlias = Differentiable[O, Any] | O  # Any: an operand's Delta does not matter to the result


class Predictable(Protocol[P]):
    """A layer, a weight or a mask: whatever has `predict`."""

    def predict(self) -> Do[P]: ...


class ScalarLoss(Protocol[P]):
    """An expression of shape (): one that may be a loss."""

    @property
    def shape(self) -> tuple[()]: ...
    def as_do(self) -> Do[P]: ...


class Trainable(Expression):
    """Base of the expressions that may be a loss: numbers, and arrays of shape ()."""

    __slots__ = ()

    @overload
    def train(self: ScalarLoss[X]) -> Do[X]: ...
    @overload
    def train(self: ScalarLoss[D], *, also: Predictable[A]) -> Do[tuple[D, A]]: ...
    @overload
    def train(self: ScalarLoss[D], *, also: F) -> Do[tuple[D, Values[F]]]: ...
    @overload
    def train(self: ScalarLoss[D], *, also: tuple[()]) -> Do[tuple[D, tuple[()]]]: ...
    @overload
    def train(self: ScalarLoss[D], *, also: tuple[Predictable[A]]) -> Do[tuple[D, tuple[A]]]: ...
    @overload
    def train(
        self: ScalarLoss[D], *, also: tuple[Predictable[A], Predictable[B]]
    ) -> Do[tuple[D, tuple[A, B]]]: ...
    @overload
    def train(
        self: ScalarLoss[D], *, also: tuple[Predictable[A], Predictable[B], Predictable[C]]
    ) -> Do[tuple[D, tuple[A, B, C]]]: ...
    @overload
    def train(
        self: ScalarLoss[D],
        *,
        also: tuple[Predictable[A], Predictable[B], Predictable[C], Predictable[E]],
    ) -> Do[tuple[D, tuple[A, B, C, E]]]: ...
    @overload
    def train(
        self: ScalarLoss[D],
        *,
        also: tuple[
            Predictable[A],
            Predictable[B],
            Predictable[C],
            Predictable[E],
            Predictable[Z],
            *tuple[Predictable[Z], ...],
        ],
    ) -> Do[tuple[D, tuple[A, B, C, E, Z, *tuple[Z, ...]]]]: ...
    @overload  # Any: data in structures within; the mypy plugin says of which types
    def train(
        self: ScalarLoss[D], *, also: tuple[Inner, *tuple[object, ...]]
    ) -> Do[tuple[D, tuple[Any, *tuple[Any, ...]]]]: ...
    @overload
    def train(
        self: ScalarLoss[D], *, also: tuple[Predictable[A], Inner, *tuple[object, ...]]
    ) -> Do[tuple[D, tuple[A, *tuple[Any, ...]]]]: ...
    @overload
    def train(
        self: ScalarLoss[D], *, also: tuple[Predictable[A], Predictable[B], Inner, *tuple[object, ...]]
    ) -> Do[tuple[D, tuple[A, B, *tuple[Any, ...]]]]: ...
    @overload
    def train(self: ScalarLoss[D], *, also: M) -> Do[tuple[D, Values[M]]]: ...
    @overload  # what is left for an array with axes: checkers say that it is reduced first
    # pyrefly: ignore[inconsistent-overload]  # nobody gives the keyword
    def train(self, *, also: object = None, write_mean_of_the_loss: Never) -> Do[Never]: ...
    # Any: typed by the overloads
    def train(self, *, also: Any = None) -> Do[Any]:  # type: ignore[misc] # as above, the keyword
        """The loss before the update, of shape (); when run, every weight below takes one step.

        `also` are expressions whose values are wanted, too, those of the same pass, before the update: see
        `wengert.train`.
        """
        return asked("train", with_also(self, also))


class ScalarOperand(Trainable, Generic[N, X, L]):
    """A scalar weight or layer: arrays that it scales have elements `N`, its data are `X`, operators give `L`."""

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

    @property
    def forward(self) -> Do[Tape[X, X]]:
        """The tape of this expression, made by whoever runs the `Do`."""
        return asked("forward", self)

    def predict(self, *, at: Data | None = None) -> Do[X]:
        """The value, with the data `at` for some weights; no weight changes."""
        return asked("predict", bound_to("predict", self, at))

    def as_do(self) -> Do[X]:
        """The value in the run that this is part of: what `await` gives."""
        return asked("value", self)

    def __await__(self) -> Generator[Any, Any, X]:  # Any: what passes between a coroutine and its driver
        return self.as_do().__await__()

    if TYPE_CHECKING:  # Any: typed by the overloads

        @property
        def _layer(self) -> L: ...  # a derivative by such an expression, as one; below, its data
        def _delta(self) -> X: ...
        def __pos__(self) -> L: ...
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
        def __mod__(self, other: AnyShape[N, Dv], /) -> ArrayLayer[Any, N, Dv]: ...
        @overload
        def __mod__(self, other: Differentiable[X, X] | X | float, /) -> L: ...
        def __mod__(self, other: Any, /) -> Any: ...
        @overload
        def __rpow__(self, other: AnyShape[N, Dv], /) -> ArrayLayer[Any, N, Dv]: ...
        @overload
        def __rpow__(self, other: Differentiable[X, X] | X | float, /) -> L: ...
        def __rpow__(self, other: Any, /) -> Any: ...
        @overload
        def __rmod__(self, other: AnyShape[N, Dv], /) -> ArrayLayer[Any, N, Dv]: ...
        @overload
        def __rmod__(self, other: Differentiable[X, X] | X | float, /) -> L: ...
        def __rmod__(self, other: Any, /) -> Any: ...

    else:  # functions of `apply`, one frame a node
        __pos__, __neg__, __abs__ = of_one(LITERAL), of_one(NEGATIVE), of_one(ABS)
        __add__, __radd__ = methods(ADD)
        __sub__, __rsub__ = methods(SUBTRACT)
        __mul__, __rmul__ = methods(MULTIPLY)
        __truediv__, __rtruediv__ = methods(DIVIDE)
        __pow__, __rpow__ = methods(POW)
        __mod__, __rmod__ = methods(REMAINDER)


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


if TYPE_CHECKING:

    class _TapeData:  # the exact array type by device, which a field cannot state
        @overload
        def __get__(self, tape: ArrayTape[S, T, Cpu], cls: object) -> HostArray[S, T]: ...
        @overload
        def __get__(self, tape: ArrayTape[S, T, Gpu], cls: object) -> GpuArray[S, T]: ...
        def __get__(self, tape: Any, cls: object) -> Any: ...  # Any: typed by the overloads

    class ArrayTape(Tape[Array[U, T, Dv], Array[U, T, Dv]], Generic[U, T, Dv]):
        """A tape whose data are numpy's or cupy's own array, for checkers: when it runs it is a `Tape`."""

        data: _TapeData = _TapeData()  # type: ignore[assignment] # what it gives is such an array


class ArrayOperand(Trainable, Generic[S, T, Dv]):
    """The operators of n-d arrays of shape `S`, element type `T`, on device `Dv`.

    Covariant in the shape, so that operands of several sizes fit one list; invariant in the others.
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
    def forward(self) -> Do[ArrayTape[S, T, Dv]]:
        """The tape of this expression, made by whoever runs the `Do`."""
        return asked("forward", self)

    @overload
    def predict(self: ArrayOperand[S, T, Cpu], *, at: Data | None = None) -> Do[HostArray[S, T]]: ...
    @overload
    def predict(self: ArrayOperand[S, T, Gpu], *, at: Data | None = None) -> Do[GpuArray[S, T]]: ...
    def predict(self, *, at: Data | None = None) -> Do[Any]:  # Any: typed by the overloads
        """The value, a new array, with the data `at` for some weights; no weight changes."""
        return asked("predict", bound_to("predict", self, at))

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

        @property
        def _layer(self) -> ArrayLayer[S, T, Dv]: ...  # as above
        @overload
        def _delta(self: ArrayOperand[S, T, Cpu]) -> HostArray[S, T]: ...
        @overload
        def _delta(self: ArrayOperand[S, T, Gpu]) -> GpuArray[S, T]: ...
        def _delta(self) -> Any: ...  # Any: typed by the overloads
        def __pos__(self) -> ArrayLayer[S, T, Dv]: ...
        def __neg__(self) -> ArrayLayer[S, T, Dv]: ...
        def __abs__(self) -> ArrayLayer[S, T, Dv]: ...
        def __add__(self, other: Beside[T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...
        def __radd__(self, other: Beside[T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...
        def __sub__(self, other: Beside[T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...
        def __rsub__(self, other: Beside[T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...
        def __mul__(self, other: Beside[T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...
        def __rmul__(self, other: Beside[T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...
        def __truediv__(self, other: Beside[T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...
        def __rtruediv__(self, other: Beside[T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...
        def __pow__(self, other: Beside[T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...
        def __mod__(self, other: Beside[T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...
        def __rpow__(self, other: Beside[T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...
        def __rmod__(self, other: Beside[T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...
        def __matmul__(self, other: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...
        def __rmatmul__(self, other: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]: ...

    else:  # functions of `apply`, one frame a node
        __pos__, __neg__, __abs__ = of_one(LITERAL), of_one(NEGATIVE), of_one(ABS)
        __add__, __radd__ = methods(ADD)
        __sub__, __rsub__ = methods(SUBTRACT)
        __mul__, __rmul__ = methods(MULTIPLY)
        __truediv__, __rtruediv__ = methods(DIVIDE)
        __pow__, __rpow__ = methods(POW)
        __mod__, __rmod__ = methods(REMAINDER)
        __matmul__, __rmatmul__ = methods(MATMUL)


# The device of the alias. mypy keeps the first definition. Pyright and pyrefly take the second: pyright makes `str`,
# which is no device, of a literal that is an alias's default, unless the variable is one of a list of types.
Place = TypeVar("Place", bound=Cpu | Gpu, default=Cpu)
Place = TypeVar("Place", Cpu, Gpu, Cpu | Gpu, default=Cpu)  # type: ignore[misc, assignment] # as is said above
# Any: array data of users' own classes carry no shape that a checker could compare
ArrayExpression: TypeAlias = (
    ArrayOperand[S, T, Place] | ArrayLiteral[T, Place] | Differentiable[Host[T], Host[T]]
)
IndexPart: TypeAlias = IndexExpression | HostMask[Any] | slice | EllipsisType | None
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


class DataOperand(Expression, Generic[P, E]):
    """The operators of Data of a registered type that is neither a scalar nor an array of the table.

    A type checker takes the operators that the Data have, by their methods: `a * b` is a layer of what these give, with
    the Delta of `a`. The rule is found where the node is built: NotDifferentiableError where nobody has added one.
    """

    __slots__ = ()

    if TYPE_CHECKING:  # what a derivative by such an expression is, as an expression and as data

        @property
        def _layer(self) -> Layer[E, E]: ...
        def _delta(self) -> E: ...

    # The operators that the Data have. Each `self` is this class: pyright gives up on an operator of which the first
    # overload has a protocol there that does not fit.
    if TYPE_CHECKING:  # Any: typed by the overloads

        def __pos__(self) -> Layer[P, E]: ...
        def __neg__(self: DataOperand[Negates[Y], E]) -> Layer[Y, E]: ...
        def __abs__(self: DataOperand[HasAbs[Y], E]) -> Layer[Y, E]: ...
        @overload
        def __add__(self: DataOperand[Adds[O, float], E], other: Operand[O], /) -> DoubleLayer: ...  # type: ignore[overload-overlap] # narrow first: the second takes what this one leaves
        @overload
        def __add__(self: DataOperand[Adds[O, Y], E], other: Operand[O], /) -> Layer[Y, E]: ...
        def __add__(self, other: Any, /) -> Any: ...
        @overload
        def __sub__(self: DataOperand[Subtracts[O, float], E], other: Operand[O], /) -> DoubleLayer: ...  # type: ignore[overload-overlap] # narrow first: the second takes what this one leaves
        @overload
        def __sub__(self: DataOperand[Subtracts[O, Y], E], other: Operand[O], /) -> Layer[Y, E]: ...
        def __sub__(self, other: Any, /) -> Any: ...
        @overload
        def __mul__(self: DataOperand[Multiplies[O, float], E], other: Operand[O], /) -> DoubleLayer: ...  # type: ignore[overload-overlap] # narrow first: the second takes what this one leaves
        @overload
        def __mul__(self: DataOperand[Multiplies[O, Y], E], other: Operand[O], /) -> Layer[Y, E]: ...
        def __mul__(self, other: Any, /) -> Any: ...
        @overload
        def __truediv__(self: DataOperand[Divides[O, float], E], other: Operand[O], /) -> DoubleLayer: ...  # type: ignore[overload-overlap] # narrow first: the second takes what this one leaves
        @overload
        def __truediv__(self: DataOperand[Divides[O, Y], E], other: Operand[O], /) -> Layer[Y, E]: ...
        def __truediv__(self, other: Any, /) -> Any: ...
        @overload
        def __pow__(self: DataOperand[Raises[O, float], E], other: Operand[O], /) -> DoubleLayer: ...  # type: ignore[overload-overlap] # narrow first: the second takes what this one leaves
        @overload
        def __pow__(self: DataOperand[Raises[O, Y], E], other: Operand[O], /) -> Layer[Y, E]: ...
        def __pow__(self, other: Any, /) -> Any: ...
        @overload
        def __mod__(self: DataOperand[LeavesRemainder[O, float], E], other: Operand[O], /) -> DoubleLayer: ...  # type: ignore[overload-overlap] # narrow first: the second takes what this one leaves
        @overload
        def __mod__(self: DataOperand[LeavesRemainder[O, Y], E], other: Operand[O], /) -> Layer[Y, E]: ...
        def __mod__(self, other: Any, /) -> Any: ...
        @overload
        def __matmul__(self: DataOperand[Contracts[O, float], E], other: Operand[O], /) -> DoubleLayer: ...  # type: ignore[overload-overlap] # narrow first: the second takes what this one leaves
        @overload
        def __matmul__(self: DataOperand[Contracts[O, Y], E], other: Operand[O], /) -> Layer[Y, E]: ...
        def __matmul__(self, other: Any, /) -> Any: ...
        def __radd__(self: DataOperand[IsAdded[O, Y], E], other: Operand[O], /) -> Layer[Y, E]: ...
        def __rsub__(self: DataOperand[IsSubtracted[O, Y], E], other: Operand[O], /) -> Layer[Y, E]: ...
        def __rmul__(self: DataOperand[IsMultiplied[O, Y], E], other: Operand[O], /) -> Layer[Y, E]: ...

    else:
        __pos__, __neg__, __abs__ = of_one(LITERAL), of_one(NEGATIVE), of_one(ABS)
        __add__, __radd__ = methods(ADD)
        __sub__, __rsub__ = methods(SUBTRACT)
        __mul__, __rmul__ = methods(MULTIPLY)
        __truediv__, __rtruediv__ = methods(DIVIDE)
        __pow__, __rpow__ = methods(POW)
        __mod__, __rmod__ = methods(REMAINDER)
        __matmul__, __rmatmul__ = methods(MATMUL)

    @property
    def forward(self) -> Do[Tape[P, E]]:
        """The tape of this expression, made by whoever runs the `Do`."""
        return asked("forward", self)

    def predict(self, *, at: Data | None = None) -> Do[P]:
        """The value, with the data `at` for some weights; no weight changes."""
        return asked("predict", bound_to("predict", self, at))

    def as_do(self) -> Do[P]:
        """The value in the run that this is part of: what `await` gives."""
        return asked("value", self)

    def __await__(self) -> Generator[Any, Any, P]:  # Any: what passes between a coroutine and its driver
        return self.as_do().__await__()


class Layer(DataOperand[P, E], Node, Generic[P, E]):
    """Data of a registered type that some operation, or the `forward` of a value, will make."""

    __slots__ = ()

    if not TYPE_CHECKING:  # checkers know no such attribute
        train = Elsewhere[
            Literal["train(loss); or annotate the `async def` that made it, as in -> ArrayLayer[tuple[()]]"]
        ]()


CLASSES.update(
    {
        Column.NUMBER: DoubleLayer,
        Column.DOUBLE: DoubleLayer,
        Column.FLOAT: FloatLayer,
        Column.ARRAY: ArrayLayer,
        Column.OTHER: Layer,
    }
)
