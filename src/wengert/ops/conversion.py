"""Conversion between element types and between devices, the only way from one to the other.

Knows: that a delta goes back in the element type of the operand, and to its device.
Refuses to know: other element types than float32 and float64: nothing else is differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, overload

from wengert.arrays import (
    FLOAT32,
    FLOAT64,
    Cpu,
    DType,
    Dv,
    Float32,
    Float64,
    Gpu,
    S,
    T,
    Value,
    dtype_from,
    moved,
)
from wengert.errors import ArgumentError, DTypeError
from wengert.generics import TypeVar
from wengert.graph.apply import apply
from wengert.graph.batch import rowwise
from wengert.graph.detached import Indices
from wengert.graph.expressions import (
    ArrayExpression,
    ArrayLayer,
    DoubleExpression,
    DoubleLayer,
    FloatExpression,
    FloatLayer,
)
from wengert.graph.kinds import Column, Kind, kind
from wengert.graph.operation import Operation, Rules
from wengert.ops.batching import by_elements
from wengert.ops.kinds import array_of, common
from wengert.site import user_position

U = TypeVar("U", bound=Float32 | Float64, default=Float32)  # a default, as those before it have one


def _infer(kinds: Sequence[Kind], *, dtype: Any) -> Kind:  # Any: numpy's dtype, as kinds keep it
    if kinds[0].column is Column.INDEX:
        return kind(Column.ARRAY, kinds[0].shape, dtype, kinds[0].device)
    column, _, device = common(kinds)
    if column is not Column.ARRAY:
        column = Column.FLOAT if dtype == FLOAT32 else Column.DOUBLE
    return kind(column, kinds[0].shape, dtype, device)


def _converted(c: Value, x: Value, to: Kind) -> Value:
    return c.xp.astype(x, to.dtype) if to.column is Column.ARRAY else c.xp.item(x, to.dtype)


ASTYPE: Final = Operation(
    "astype",
    Rules(
        _infer,
        lambda c, x, *, dtype: _converted(c, x, c.result),
        (lambda c, g, y, x, *, dtype: _converted(c, g, c.kinds[0]),),
        batch=rowwise,
        ragged=by_elements,
        pure=True,
    ),
)


def _infer_moved(kinds: Sequence[Kind], *, device: Any) -> Kind:  # Any: as `_Device.device`
    shape, dtype, _ = array_of(kinds)
    return kind(Column.ARRAY, shape, dtype, device.device)


def _moved(c: Value, x: Value, here: Kind, to: Kind) -> Value:
    if str(here.device) == str(to.device):  # nothing to do, and nothing for a plan to call
        return x
    return getattr(c.xp, "moved", moved)(x, to.device)


TO_DEVICE: Final = Operation(
    "to_device",
    Rules(
        _infer_moved,
        lambda c, x, *, device: _moved(c, x, c.kinds[0], c.result),
        (lambda c, g, y, x, *, device: _moved(c, g, c.result, c.kinds[0]),),
        batch=rowwise,
        pure=True,
    ),
)


class _Device:
    """A device as an attribute of an operation: cupy's have no hash."""

    def __init__(self, device: Any) -> None:  # Any: "cpu", or one of cupy's
        self.device = device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Device) and str(other.device) == str(self.device)

    def __hash__(self) -> int:
        return hash(str(self.device))

    def __repr__(self) -> str:
        return repr(self.device)


@overload
def to_device(x: ArrayExpression[S, T, Any], device: Cpu, /) -> ArrayLayer[S, T, Cpu]: ...
@overload
def to_device(x: ArrayExpression[S, T, Any], device: Gpu, /) -> ArrayLayer[S, T, Gpu]: ...
def to_device(x: Any, device: Any, /) -> Any:  # Any: typed by the overloads
    """x on another device: "cpu", or one of cupy's, as `cupy.cuda.Device(1)`; on the same one it is x.

    A run waits for what comes to the cpu. A graph with arrays on several devices runs node by node.
    Derivative: g, on the device of x.
    Shapes: that of x; the dtype, too. Raises ArgumentError for what is no device, DTypeError for integers and masks.
    >>> import numpy as np
    >>> to_device(np.ones(2), "cpu").device
    'cpu'

    Source: Python array API standard, `array.to_device`.
    """
    if device != "cpu" and type(device).__name__ != "Device":
        raise ArgumentError(
            f'to_device: expected "cpu" or a device such as cupy.cuda.Device(0), got {device!r:.60}\n'
            f"  at {user_position()}"
        )
    return apply(TO_DEVICE, (x,), (("device", _Device(device)),))


@overload
def astype(x: ArrayExpression[S, T, Dv], dtype: type[U] | DType[U], /) -> ArrayLayer[S, U, Dv]: ...
@overload
def astype(x: Indices[S, Dv], dtype: type[U] | DType[U], /) -> ArrayLayer[S, U, Dv]: ...
@overload
def astype(  # type: ignore[overload-overlap] # no class is both element types
    x: DoubleExpression | FloatExpression, dtype: type[Float32] | DType[Float32], /
) -> FloatLayer: ...
@overload
def astype(
    x: DoubleExpression | FloatExpression, dtype: type[Float64] | DType[Float64], /
) -> DoubleLayer: ...
def astype(x: Any, dtype: Any, /) -> Any:  # Any: typed by the overloads
    """x as float32 or float64, a number or an array; `Indices` become an array of numbers.

    Derivative: g in the element type of x; none for integers.
    Shapes: that of x; the dtype is numpy.float32 or numpy.float64. Raises DTypeError for any other.
    >>> import numpy as np
    >>> astype(np.ones(2), np.float32).dtype
    dtype('float32')

    Source: Python array API standard, `astype`.
    """
    wanted = dtype_from(dtype)
    if wanted is None or wanted not in (FLOAT32, FLOAT64):  # numpy takes None for float64
        given = repr(dtype) if wanted is None else str(wanted)
        raise DTypeError(
            f"astype: {given:.60} is not differentiable; use numpy.float32 or numpy.float64; for other values convert "
            f"what a run gives, as in `layer.predict().run().astype(...)`\n  at {user_position()}"
        )
    return apply(ASTYPE, (x,), (("dtype", wanted),))
