"""Names of element types, arrays and devices, so that no other module needs an array library for them.

Knows: numpy's classes; that cupy's device class exists, without importing it.
Refuses to know: any function on arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias

import numpy as np

from wengert.generics import TypeVar

__all__ = [
    "ARRAY_CLASS",
    "FLOAT32",
    "FLOAT64",
    "FLOATS",
    "INTEGER",
    "MASK",
    "Array",
    "ArrayLiteral",
    "Bool",
    "Cpu",
    "DType",
    "Dv",
    "Dv_co",
    "Float32",
    "Float64",
    "Floating",
    "Generic0d",
    "Gpu",
    "GpuArray",
    "GpuMask",
    "Host",
    "HostArray",
    "HostData",
    "HostMask",
    "Int64",
    "IntegerArray",
    "Integers",
    "S",
    "S_co",
    "T",
    "T_co",
]

Float32 = np.float32  # for checkers not a class but an alias: instead of isinstance use `is_float32`
Float64 = np.float64
Bool = np.bool
Int64 = np.int64
DType = np.dtype
Generic0d = np.generic  # the base of numpy's scalars, which stand for arrays of shape () in results
Floating: TypeAlias = np.floating[Any]  # reason for Any: numpy's own parameter, the number of bits

ARRAY_CLASS: type = np.ndarray  # stands for the data of every array column, wherever they live
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
FLOATS = (FLOAT32, FLOAT64)  # the element types of expressions
MASK = np.dtype(np.bool)
INTEGER = np.array(0).dtype  # of an integer of which nobody has said another

Cpu: TypeAlias = Literal["cpu"]

if TYPE_CHECKING:
    from cupy import ndarray as _CupyArray
    from cupy.cuda import Device as Gpu
else:

    class _Cupy(type):
        """Stands for a class of cupy, which is not imported: `isinstance` goes by the names."""

        def __instancecheck__(cls, value):
            kind = type(value)
            return kind.__name__ == cls.stands_for and kind.__module__.partition(".")[0] == "cupy"

    class Gpu(metaclass=_Cupy):
        """The type of a cupy array's `.device`."""

        stands_for = "Device"

    class _CupyArray(Generic[TypeVar("_Shape"), TypeVar("_DType")], metaclass=_Cupy):
        """The type of cupy's arrays."""

        stands_for = "ndarray"


# Any, as a default and as a shape: not known to the checker, which agrees with everything.
# Covariant, so that a list of layers of several sizes is a list of layers whose size is an `int`; where one variable
# is bound by two sizes, the mypy plugin refuses it.
# Any, as what the bound's items are: `tuple[Batch, *Others]` is no tuple of int to a checker.
S = TypeVar("S", bound=tuple[Any, ...], default=Any, covariant=True)
T = TypeVar("T", bound=np.floating[Any], default=np.float32)  # Any: the number of bits
Dv = TypeVar("Dv", bound="Cpu | Gpu", default=Cpu)
S_co = TypeVar("S_co", bound=tuple[Any, ...], default=Any, covariant=True)
T_co = TypeVar("T_co", bound=np.floating[Any], default=np.float32, covariant=True)  # Any: the number of bits
Dv_co = TypeVar("Dv_co", bound="Cpu | Gpu", default=Cpu, covariant=True)

Element = TypeVar("Element", bound=np.generic, default=np.generic)

Host: TypeAlias = np.ndarray[Any, np.dtype[T]]  # Any: the shape
HostArray: TypeAlias = np.ndarray[S, np.dtype[T]]
HostMask: TypeAlias = np.ndarray[S, np.dtype[np.bool]]
HostData: TypeAlias = np.ndarray[S, np.dtype[Element]]
GpuArray: TypeAlias = _CupyArray[S, np.dtype[T]]
GpuMask: TypeAlias = _CupyArray[S, np.dtype[np.bool]]


class Array(Protocol[S_co, T_co, Dv_co]):
    """An array of numpy or of cupy: what an array expression's data and deltas are."""

    @property
    def shape(self) -> S_co: ...
    @property
    def dtype(self) -> np.dtype[T_co]: ...
    @property
    def device(self) -> Dv_co: ...
    def __array__(self) -> np.ndarray[S_co, np.dtype[T_co]]: ...  # what makes numpy's functions take it


class ArrayLiteral(Protocol[T_co, Dv_co]):
    """An array as users have it; `__len__` keeps numpy's scalars out, `device` the other device's."""

    @property
    def dtype(self) -> np.dtype[T_co]: ...
    @property
    def device(self) -> Dv_co: ...
    # Any: numpy and cupy declare different overloads; only the presence of the method is asked for.
    @property
    def __array__(self) -> Any: ...
    def __len__(self) -> int: ...


class IntegerArray(Protocol):
    """An array of integers: labels, or places in another array; `__len__` keeps numpy's scalars out.

    >>> import numpy as np
    >>> import wengert as wg
    >>> def chosen(x: wg.ArrayExpression, places: wg.IntegerArray) -> wg.ArrayLayer:
    ...     return wg.take(x, places, axis=0)
    >>> chosen(np.array([1.0, 2.0, 3.0]), np.array([2, 0])).predict().run().tolist()
    [3.0, 1.0]
    """

    @property
    def dtype(self) -> np.dtype[np.integer[Any]]: ...  # Any: the number of bits
    @property
    def __array__(self) -> Any: ...  # Any: as above
    def __len__(self) -> int: ...
    # Any: numpy's and cupy's operators have overloads of their own for each number of bits
    def __neg__(self) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...


# Any: the number of bits
Integers: TypeAlias = IntegerArray | np.integer[Any] | int | Sequence[int] | Sequence[Sequence[int]]
