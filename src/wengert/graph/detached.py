"""Layers without a derivative: masks, which comparisons make, and integers, which choices of elements make.

Knows: that they have a value, and neither operators nor a tape.
Refuses to know: which operations make and take them.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Generic, TypeAlias, cast, overload

from wengert.arrays import Bool, Cpu, DType, Dv, Generic0d, Gpu, HostData, Int64, Integers, S
from wengert.control import Do
from wengert.generics import TypeVar
from wengert.graph.apply import apply
from wengert.graph.binding import Data
from wengert.graph.binding import at as bound_to
from wengert.graph.index import index_of
from wengert.graph.kinds import CLASSES, Column
from wengert.graph.node import Node, asked
from wengert.graph.operators import GETITEM

E = TypeVar("E", bound=Generic0d, default=Generic0d)


class Detached(Node, Generic[S, E, Dv]):
    """The base of layers without a derivative; `E` is the type of their elements."""

    __slots__ = ()

    @property
    def shape(self) -> S:
        shape: S = cast(Any, self._shape)  # Any: `S` says the same, dimension by dimension
        return shape

    @property
    def device(self) -> Dv:
        device: Dv = self._device
        return device

    @property
    def dtype(self) -> DType[E]:
        dtype: DType[E] = self._dtype
        return dtype

    @overload
    def predict(self: Detached[S, E, Cpu], *, at: Data | None = None) -> Do[HostData[S, E]]: ...
    @overload
    def predict(self: Detached[S, E, Gpu], *, at: Data | None = None) -> Do[Any]: ...  # Any: cupy's array
    def predict(self, *, at: Data | None = None) -> Do[Any]:  # Any: typed by the overloads
        """The value, with the data `at` for some weights."""
        return asked("predict", bound_to("predict", self, at))

    def as_do(self) -> Do[HostData[S, E]]:
        """The value in the run that this is part of: what `await` gives."""
        return asked("value", self)

    def __await__(self) -> Generator[Any, Any, HostData[S, E]]:  # Any: as above
        return self.as_do().__await__()


class Mask(Detached[S, Bool, Dv], Generic[S, Dv]):
    """Booleans that a comparison will make: for `where` and `sum`, without a delta and without `forward`.

    >>> import wengert as wg
    >>> wg.greater(2.0, 1.0).predict().run().item()
    True
    """

    __slots__ = ()


class Indices(Detached[S, Int64, Dv], Generic[S, Dv]):
    """Integers that `argmax` or `top_k` will make: for `take` and its like and for labels, without a delta.

    >>> import numpy as np
    >>> import wengert as wg
    >>> x = np.array([[1.0, 3.0, 2.0], [6.0, 4.0, 5.0]])
    >>> best = wg.argmax(x, axis=1, keepdims=True)
    >>> wg.take_along_axis(x, best, axis=1).predict().run().tolist()
    [[3.0], [6.0]]
    """

    __slots__ = ()

    def __getitem__(self, key: Any, /) -> Indices[Any, Dv]:  # Any: integers, slices, `...` and None
        """A part of the integers: `getitem` of a key without arrays."""
        operands, static = index_of(self, key)
        made: Indices[Any, Dv] = apply(GETITEM, operands, (("key", static),))
        return made

    __iter__ = None  # with `__getitem__` alone Python would count upwards without an end


IndexExpression: TypeAlias = Integers | Indices[Any, Any]  # Any: of every shape, on every device

CLASSES.update({Column.MASK: Mask, Column.INDEX: Indices})
