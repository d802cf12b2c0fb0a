"""What a compiled plan may do with numpy's functions: write into a buffer, and into which.

Knows: which functions take `out`, which work element by element (so that the result may lie where an operand
lay), and which results share no memory with an operand.
Refuses to know: graphs, plans, and who reuses what.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from wengert.arrays import host
from wengert.arrays.namespace import Axis, Shape, Value
from wengert.arrays.scatter import places

__all__ = ["EFFECTS", "KERNELS", "Kernel", "kernel_of", "new_buffer", "subtract_into"]

Function = Callable[..., Any]  # reason for Any: functions of numpy and of `host`, on every kind of value


class Kernel(NamedTuple):
    """How a function can be called by a plan; the default is what may be said of any function."""

    into: Function | None = None  # the same, with the buffer for the result as `out`
    elementwise: bool = False  # the buffer may be an operand's
    fresh: bool = False  # the result shares no memory with an operand


def _reduced_into(reduce: Function) -> Function:
    def into(x: Value, /, axis: Axis = None, keepdims: bool = False, *, out: Value) -> Value:
        return reduce(x, axis, None, out, keepdims)

    return into


def _copied_into(x: Value, shape: object, /, *, out: Value) -> Value:
    np.copyto(out, x)
    return out


def _joined_into(xs: Any, axis: int, /, *, out: Value) -> Value:  # Any: a sequence of arrays
    return np.concatenate(xs, axis, out)


def joined(xs: Any, axis: int, /) -> Value:  # Any: a sequence of arrays
    """`concat` with the axis by position."""
    return np.concatenate(xs, axis)


def minus_one_at(x: Value, at: Value, /) -> Value:
    """`x - one_hot(labels)` without making the ones; `at` is where they would stand."""
    return _minus_one_into(x, at, out=np.empty(x.shape, x.dtype))


def _minus_one_into(x: Value, at: Value, /, *, out: Value) -> Value:
    if out is not x:
        np.copyto(out, x)
    out.reshape(-1)[at] -= 1
    return out


def ones_at(at: Value, form: tuple[Shape, Value], /) -> Value:
    """`one_hot` of labels whose places are known."""
    out = np.zeros(*form)
    out.reshape(-1)[at] = 1
    return out


def picked(x: Value, at: Value, shape: Shape, /) -> Value:
    """`pick` of labels whose places are known."""
    return x.reshape(-1)[at].reshape(shape)


_UFUNCS: Final[tuple[Function, ...]] = (
    *(np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.absolute, np.sign, np.sqrt),
    *(np.square, np.exp, np.log, np.log1p, np.expm1, np.sin, np.cos, np.tanh, np.maximum, np.minimum),
    *(np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal, np.reciprocal),
    *(np.logical_and, np.logical_or, np.logical_not),
)
_OPERATORS: Final[Mapping[Function, Function]] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.true_divide,
    operator.pos: np.positive,
    operator.neg: np.negative,
    operator.abs: np.absolute,
}
_NEW: Final[tuple[Function, ...]] = (
    *(np.where, host.add_at, ones_at, picked, places, host.take, host.take_along_axis, host.astype),
    *(host.zeros, host.ones, host.full, host.zeros_like, host.stack, host.greatest, host.plus_top),
)
KERNELS: Final[Mapping[Function, Kernel]] = {
    **{f: Kernel(f, elementwise=True, fresh=True) for f in _UFUNCS},
    **{f: Kernel(into, elementwise=True, fresh=True) for f, into in _OPERATORS.items()},
    **{f: Kernel(fresh=True) for f in _NEW},
    np.dot: Kernel(np.dot, fresh=True),
    np.matmul: Kernel(np.matmul, fresh=True),
    host._add_reduce: Kernel(_reduced_into(host._add_reduce), fresh=True),
    host._max_reduce: Kernel(_reduced_into(host._max_reduce), fresh=True),
    host._min_reduce: Kernel(_reduced_into(host._min_reduce), fresh=True),
    host.broadcast_to: Kernel(_copied_into, fresh=True),
    joined: Kernel(_joined_into, fresh=True),
    minus_one_at: Kernel(_minus_one_into, elementwise=True, fresh=True),
}
_UNKNOWN: Final = Kernel()


def subtract_into(w: Value, d: Value, /) -> None:
    """`w -= d` in place."""
    np.subtract(w, d, w)


EFFECTS: Final[frozenset[Function]] = frozenset({host.fused_update, host.scaled_update, host.subtract_at})


def kernel_of(function: Function) -> Kernel:
    """What is known of a function."""
    return KERNELS.get(function, _UNKNOWN)


def new_buffer(shape: Shape, dtype: Value) -> Value:
    """An array in C order whose elements have any value."""
    return np.empty(shape, dtype)
