"""The table of differentiable types: which class a layer of each column is, and the rows that have no operators.

Knows: the layer class of every column; masks, and layers of registered data.
Refuses to know: operators, what any operation computes, and who runs a layer.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from wengert.arrays import Bool, Cpu, DType, Dv, Gpu, HostMask, S
from wengert.control import Do
from wengert.differentiable import Tape
from wengert.graph.arrays import ArrayExpression, ArrayLayer, ArrayOperand, Index
from wengert.graph.kinds import Column
from wengert.graph.node import CLASSES, Node, asked
from wengert.graph.scalars import (
    DoubleExpression,
    DoubleLayer,
    DoubleOperand,
    FloatExpression,
    FloatLayer,
    FloatOperand,
    ScalarOperand,
)

__all__ = [
    "ArrayExpression",
    "ArrayLayer",
    "ArrayOperand",
    "DoubleExpression",
    "DoubleLayer",
    "DoubleOperand",
    "FloatExpression",
    "FloatLayer",
    "FloatOperand",
    "Index",
    "Layer",
    "Mask",
    "ScalarOperand",
]

D = TypeVar("D")
E = TypeVar("E")


class Mask(Node, Generic[S, Dv]):
    """Booleans that a comparison will make: for `where` and `sum`, without a delta and without `forward`.

    >>> import wengert as wg
    >>> wg.greater(2.0, 1.0).predict().run().item()
    True
    """

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

    if TYPE_CHECKING:  # what a derivative by such an expression is as an expression

        @property
        def _layer(self) -> Layer[E, E]: ...

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
