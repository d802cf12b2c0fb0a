"""Functions in pieces: what a plan calls in place of one function of `host`, so that others can share parts.

Knows: how products, means and the stable softmax forms are made of smaller functions; softmax and logsumexp of
the same logits have their powers in common.
Refuses to know: how a call is written down, which the recorder does.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any, Final, Protocol

import numpy as np

from wengert.arrays import contraction, host, reductions, thin
from wengert.arrays.axes import count
from wengert.arrays.blas import is_small
from wengert.arrays.changes import Change
from wengert.arrays.kernels import joined, minus_one_at, ones_at, picked, subtract_into
from wengert.arrays.namespace import Axis, Function, Namespace, Shape, Value
from wengert.arrays.scatter import places

__all__ = ["PIECES", "REWRITES", "Recorder"]


class Recorder(Namespace, Protocol):
    """A namespace that writes down what is called; equal calls are made once."""

    def call(self, function: Function, /, *arguments: Value, **options: Value) -> Value:
        """A call of any function."""
        ...

    def effect(self, function: Function, /, *arguments: Value) -> list[Change]:
        """A call of a function that gives the changes of its first argument; there are none to make now."""
        ...


def _relu(xp: Recorder, x: Value, /) -> Value:
    return xp.maximum(x, 0.0)


def _sigmoid(xp: Recorder, x: Value, /) -> Value:
    return xp.call(np.reciprocal, xp.exp(-x) + 1.0)


def _matmul(xp: Recorder, a: Value, b: Value, /) -> Value:
    if a.ndim == 2 == b.ndim:
        return xp.call(thin.dot if thin.is_thin(a.shape, b.shape) else np.dot, a, b)
    return xp.call(contraction.in_order if contraction.is_stack(a.ndim, b.ndim) else np.matmul, a, b)


def _sum(xp: Recorder, x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    # Through BLAS where that is as exact: see `reductions.sum`.
    if (
        axis is None
        and not keepdims
        and x.ndim == 1
        and x.dtype.kind == "f"
        and x.shape[0] <= reductions.SHORT
    ):
        return xp.call(np.dot, x, xp.call(reductions.ones_of, x.shape[0], x.dtype))
    if axis is not None and not keepdims and x.ndim == 2 and x.dtype.kind == "f":
        rows, columns = x.shape
        if axis in (0, -2) and rows <= reductions.SHORT:
            return xp.call(np.dot, xp.call(reductions.ones_of, rows, x.dtype), x)
        if axis in (1, -1) and columns <= reductions.SHORT:
            return xp.call(np.dot, x, xp.call(reductions.ones_of, columns, x.dtype))
    return xp.call(reductions.add_reduce, x, axis=axis, keepdims=keepdims)


def _mean(xp: Recorder, x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    return xp.divide(xp.sum(x, axis=axis, keepdims=keepdims), count(x.shape, axis))


def _powers(xp: Recorder, x: Value, axis: int) -> tuple[Value, Value, Value]:
    """The greatest of each line, exp(x - greatest), and its sum: what softmax and logsumexp share."""
    # `reductions.greatest`
    top = xp.call(reductions.max_reduce, x, axis=axis, keepdims=True, initial=-math.inf)
    powers = xp.exp(x - top)
    return top, powers, xp.sum(powers, axis=axis)


def _softmax(xp: Recorder, x: Value, /, axis: int = -1) -> Value:
    _, powers, total = _powers(xp, x, axis)
    return powers / xp.expand_dims(total, axis=axis)


def _logsumexp(xp: Recorder, x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    if not isinstance(axis, int) or keepdims:
        return xp.call(host.logsumexp, x, axis=axis, keepdims=keepdims)
    top, _, total = _powers(xp, x, axis)
    top = xp.squeeze(top, axis=axis)
    return xp.call(np.fmax, xp.log(total) + top, top)


def _log_softmax(xp: Recorder, x: Value, /, axis: int = -1) -> Value:
    top, _, total = _powers(xp, x, axis)
    return (x - top) - xp.expand_dims(xp.log(total), axis=axis)


def _sum_to(xp: Recorder, g: Value, shape: Shape, /) -> Value:
    if g.shape == shape:
        return g
    if not shape:
        return xp.sum(g)
    if g.ndim == 2 and g.shape[1:] == shape:
        return xp.sum(g, axis=0)
    return xp.call(host.sum_to, g, shape)


def _one_hot(xp: Recorder, labels: Value, classes: int, dtype: Value, /) -> Value:
    return xp.call(ones_at, xp.call(places, labels, classes), ((*labels.shape, classes), dtype))


def _pick(xp: Recorder, x: Value, labels: Value, /) -> Value:
    return xp.call(picked, x, xp.call(places, labels, x.shape[-1]), labels.shape)


def _concat(xp: Recorder, xs: Any, /, axis: int = 0) -> Value:  # Any: a sequence of values
    return xp.call(joined, tuple(xs), axis)


def _fused_update(xp: Recorder, w: Value, x: Value, d: Value, scale: float, /) -> list[Change]:
    if is_small(w.shape):
        return xp.effect(subtract_into, w, xp.call(np.dot, x.T, d) * scale)
    return xp.effect(host.fused_update, w, x, d, scale)


def _scaled_update(xp: Recorder, w: Value, d: Value, scale: float, /) -> list[Change]:
    one = isinstance(scale, float) and scale == 1.0  # else it may be an input
    return xp.effect(subtract_into, w, d if one else scale * d)


def _mesh(xp: Recorder, shape: Shape, /) -> tuple[Value, ...]:
    rank = len(shape)
    return tuple(
        xp.reshape(xp.call(np.arange, n), tuple(n if i == axis else 1 for i in range(rank)))
        for axis, n in enumerate(shape)
    )


PIECES: Final[Mapping[str, Function]] = {
    "mesh": _mesh,
    "relu": _relu,
    "sigmoid": _sigmoid,
    "matmul": _matmul,
    "sum": _sum,
    "mean": _mean,
    "softmax": _softmax,
    "logsumexp": _logsumexp,
    "log_softmax": _log_softmax,
    "sum_to": _sum_to,
    "concat": _concat,
    "one_hot": _one_hot,
    "pick": _pick,
    "fused_update": _fused_update,
    "scaled_update": _scaled_update,
}

# (function, the function that made its second operand) -> a function of the first operand and of the maker's
REWRITES: Final[Mapping[tuple[Function, Function | None], Function]] = {(operator.sub, ones_at): minus_one_at}
