"""`with_update`: a value that brings new data for a buffer on the way back of a training.

Knows: that the data of a buffer are replaced by a term which goes the way of a delta, to the commit; that nothing is
differentiated by a buffer, and nothing by what replaces it.
Refuses to know: when the commit is, and layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Final, overload

from wengert.arrays import Dv, Floating, S, T
from wengert.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from wengert.generics import TypeVar
from wengert.graph import Buffer
from wengert.graph.apply import apply
from wengert.graph.evidence import lift
from wengert.graph.expressions import (
    ArrayExpression,
    ArrayLayer,
    DoubleExpression,
    DoubleLayer,
    FloatExpression,
    FloatLayer,
    ScalarOperand,
)
from wengert.graph.kinds import Kind, Role
from wengert.graph.operation import Operation, Rules
from wengert.lazy import LazyDelta, Replacement
from wengert.site import user_position

BufferType = TypeVar("BufferType", bound=Floating, default=Any)  # Any: as of every array


def _infer(kinds: Sequence[Kind], *, rate: float) -> Kind:
    x, buffer, value = kinds
    if buffer.role is not Role.BUFFER:
        raise ArgumentError("operand 1 is no buffer; settings.buffer(array) makes one")
    if value.shape is not None and value.shape != buffer.shape:
        raise ShapeError(f"a value of shape {value.shape} for a buffer of {buffer.shape}")
    if value.dtype is not None and value.dtype != buffer.dtype:
        raise DTypeError(f"a value of {value.dtype} for a buffer of {buffer.dtype}; use astype")
    if value.device != buffer.device:
        raise DeviceError(f"a value on {value.device} for a buffer on {buffer.device}")
    return x


UPDATE: Final = Operation(
    "update",
    Rules(
        _infer,
        lambda c, x, buffer, value, *, rate: x,
        (lambda c, g, y, x, buffer, value, *, rate: g, None, None),
        updates={1: lambda c, g, y, x, buffer, value, *, rate: LazyDelta([Replacement(value, rate=rate)])},
        pure=True,
    ),
)


@overload
def with_update(
    x: ArrayExpression[S, T, Dv],
    # Any, and below: the plugin compares the shapes, and so does the run
    buffer: Buffer[Any, BufferType, Dv],
    value: ArrayExpression[Any, BufferType, Dv] | ScalarOperand[BufferType] | float,
    /,
    *,
    rate: float = 1.0,
) -> ArrayLayer[S, T, Dv]: ...
@overload
def with_update(
    x: DoubleExpression,
    buffer: Buffer[
        Any, BufferType, Dv
    ],  # Any, and below: the plugin compares the shapes, and so does the run
    value: ArrayExpression[Any, BufferType, Dv] | ScalarOperand[BufferType] | float,
    /,
    *,
    rate: float = 1.0,
) -> DoubleLayer: ...
@overload
def with_update(
    x: FloatExpression,
    buffer: Buffer[
        Any, BufferType, Dv
    ],  # Any, and below: the plugin compares the shapes, and so does the run
    value: ArrayExpression[Any, BufferType, Dv] | ScalarOperand[BufferType] | float,
    /,
    *,
    rate: float = 1.0,
) -> FloatLayer: ...
# Any: typed by the overloads
def with_update(x: Any, buffer: Any, value: Any, /, *, rate: float = 1.0) -> Any:
    """x, and a training whose derivative goes through it gives the buffer new data, in its commit.

    They are the value, as the run computes it, at a rate of 1, else data + rate (value - data). A prediction, and a
    training that does not depend on x, change nothing. n updates of a buffer in one run, which has no order among its
    parts, are n steps at their common rate, each to the mean of their values: data + (1 - (1 - rate)ⁿ) (mean - data).
    At a rate of 1, and at several rates, they fail the run.
    Derivative: g for x; none for the buffer, a constant wherever it is read, and none for the value.
    Shapes: that of x, a scalar too; the value has the shape, dtype and device of the buffer: that of a buffer of shape
    () may be a scalar. Raises ShapeError, DTypeError,
    DeviceError, and ArgumentError for a rate outside of (0, 1] and for what is no buffer.
    >>> import numpy as np
    >>> from wengert import mean
    >>> from wengert.plugins import SGD
    >>> settings = SGD(learning_rate=0.1)
    >>> w, seen = settings.array_weight(np.ones(2)), settings.buffer(np.zeros(2))
    >>> h = w * np.array([2.0, 4.0])
    >>> loss = mean(with_update(h, seen, h, rate=0.5))
    >>> loss.predict().run().item(), seen.data.tolist()
    (3.0, [0.0, 0.0])
    >>> loss.train().run().item(), seen.data.tolist()
    (3.0, [1.0, 2.0])

    Source: the buffers of PyTorch's modules, as a value that says when they change.
    """
    if not isinstance(rate, Real) or not 0.0 < rate <= 1.0:
        raise ArgumentError(
            f"update: the rate is a number above 0, and at most 1; got {rate!r:.60}\n  at {user_position()}"
        )
    return apply(UPDATE, (lift(x), buffer, value), (("rate", float(rate)),))
