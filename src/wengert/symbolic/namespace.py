"""The functions of `wengert.arrays.Namespace` over expressions: each makes nodes of Wengert's own operations.

Knows: which operations a function is made of, and that numbers of Python and numpy are computed with at once.
Refuses to know: values: what needs one is not here, and a rule that asks for it cannot be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert import ops
from wengert.arrays import (
    Axis,
    Cpu,
    Gpu,
    Shape,
    Value,
    is_array,
    namespace_for,
    namespace_of,
)
from wengert.arrays.axes import broadcast_axes
from wengert.graph.kinds import Column, kind
from wengert.ops import backward
from wengert.symbolic.symbol import Symbol, bare, constant, joint

Pair = tuple[int, int]
Unary = Callable[["Symbolic", Value], Value]
Binary = Callable[["Symbolic", Value, Value], Value]


def _unary(name: str) -> Unary:
    operation = getattr(ops, name)

    def function(self: Symbolic, x: Value, /) -> Value:
        return Symbol(operation(x.x)) if isinstance(x, Symbol) else getattr(namespace_of(x), name)(x)

    return function


def _binary(name: str) -> Binary:
    operation = getattr(ops, name)

    def function(self: Symbolic, a: Value, b: Value, /) -> Value:
        if isinstance(a, Symbol) or isinstance(b, Symbol):
            return Symbol(operation(*joint(a, b)))
        return getattr(namespace_of(a), name)(a, b)

    return function


def _reduction(name: str) -> Callable[..., Value]:
    operation = getattr(ops, name)

    def function(self: Symbolic, x: Symbol, /, axis: Axis = None, keepdims: bool = False) -> Value:
        return Symbol(operation(x.x, axis=axis, keepdims=keepdims))

    return function


def _decided(condition: Value) -> bool:
    """Whether a condition is a truth value, and no mask."""
    return not isinstance(condition, Symbol) and not is_array(condition)


class Symbolic:
    """The `case.xp` of a rule that is applied to symbols, of arrays on one device."""

    def __init__(self, device: Cpu | Gpu) -> None:
        self._device = device

    abs, sign, sqrt, square = map(_unary, ("abs", "sign", "sqrt", "square"))
    exp, log, log1p, expm1 = map(_unary, ("exp", "log", "log1p", "expm1"))
    sin, cos, tanh, erf = map(_unary, ("sin", "cos", "tanh", "erf"))
    sigmoid, relu = map(_unary, ("sigmoid", "relu"))
    pow, divide, maximum, minimum = map(_binary, ("pow", "divide", "maximum", "minimum"))
    greater, greater_equal = map(_binary, ("greater", "greater_equal"))
    less, less_equal, equal, not_equal = map(_binary, ("less", "less_equal", "equal", "not_equal"))
    sum, prod, mean = map(_reduction, ("sum", "prod", "mean"))
    max, min, logsumexp = map(_reduction, ("max", "min", "logsumexp"))

    def where(self, condition: Value, a: Value, b: Value, /) -> Value:
        if _decided(condition):
            return a if condition else b
        return Symbol(ops.where(*joint(condition, a, b)))

    def logical_and(self, a: Value, b: Value, /) -> Value:
        if _decided(a) or _decided(b):
            known, other = (a, b) if _decided(a) else (b, a)
            return other if known else False
        return Symbol(ops.logical_and(*joint(a, b)))

    def logical_or(self, a: Value, b: Value, /) -> Value:
        if _decided(a) or _decided(b):
            known, other = (a, b) if _decided(a) else (b, a)
            return True if known else other
        return Symbol(ops.logical_or(*joint(a, b)))

    def logical_not(self, a: Value, /) -> Value:
        return (not a) if _decided(a) else Symbol(ops.logical_not(bare(a)))

    def nonzero_safe(self, g: Value, r: Value, /) -> Value:
        if not isinstance(r, Symbol):
            return r
        return Symbol(backward.nonzero_safe(*joint(g, r)))

    def sum_to(self, g: Value, shape: Shape, /) -> Value:
        if not isinstance(g, Symbol) or g.shape == shape:
            return g
        axes = broadcast_axes(g.shape, shape)
        return self.reshape(self.sum(g, axis=axes), shape)

    def item(self, x: Value, dtype: Value, /) -> Value:
        if not isinstance(x, Symbol):
            return x
        array = x.x.kind.column is Column.ARRAY
        return Symbol(backward.item(x.x) if array else ops.astype(x.x, dtype))

    # -- arrays ----------------------------------------------------------------------------------------

    def zeros_like(self, x: Symbol, /) -> Value:
        return constant(0.0, x.x.kind)

    def full(self, shape: Shape, value: Value, dtype: Value, /) -> Value:
        of = kind(Column.ARRAY, shape, dtype, self._device)
        return value * constant(1.0, of) if isinstance(value, Symbol) else constant(float(value), of)

    def zeros(self, shape: Shape, dtype: Value, /) -> Value:
        return self.full(shape, 0.0, dtype)

    def ones(self, shape: Shape, dtype: Value, /) -> Value:
        return self.full(shape, 1.0, dtype)

    def astype(self, x: Symbol, dtype: Value, /) -> Value:
        if x.x.kind.column is Column.MASK:
            return self.where(x, self.ones((), dtype), 0.0)
        return Symbol(ops.astype(x.x, dtype))

    def mesh(self, shape: Shape, /) -> tuple[Value, ...]:
        return namespace_for(self._device, True).mesh(shape)

    def matmul(self, a: Value, b: Value, /) -> Value:
        return Symbol(ops.matmul(bare(a), bare(b)))

    def einsum(self, spec: str, /, *xs: Value) -> Value:
        return Symbol(ops.einsum(spec, *map(bare, xs)))

    def swap_last(self, x: Symbol, /) -> Value:
        rank = x.ndim
        return Symbol(ops.permute_dims(x.x, (*range(rank - 2), rank - 1, rank - 2)))

    def cumsum(self, x: Symbol, /, axis: int) -> Value:
        return Symbol(ops.cumsum(x.x, axis=axis))

    def cumprod(self, x: Symbol, /, axis: int) -> Value:
        """By products over 2, 4, 8 ... elements: whatever is 0, nothing is divided."""
        shape, at = x.shape, axis % x.ndim
        step = 1
        while step < shape[at]:
            ones = self.ones((*shape[:at], step, *shape[at + 1 :]), x.dtype)
            before = x[(*(slice(None),) * at, slice(0, shape[at] - step))]
            x = x * self.concat([ones, before], axis=at)
            step *= 2
        return x

    def softmax(self, x: Symbol, /, axis: int = -1) -> Value:
        return Symbol(ops.softmax(x.x, axis=axis))

    def log_softmax(self, x: Symbol, /, axis: int = -1) -> Value:
        return Symbol(ops.log_softmax(x.x, axis=axis))

    def reshape(self, x: Symbol, shape: Shape, /) -> Value:
        return x if x.shape == shape else Symbol(ops.reshape(x.x, shape))

    def permute_dims(self, x: Symbol, axes: tuple[int, ...], /) -> Value:
        return Symbol(ops.permute_dims(x.x, axes))

    def expand_dims(self, x: Symbol, /, axis: int | tuple[int, ...]) -> Value:
        return Symbol(ops.expand_dims(x.x, axis=axis))

    def squeeze(self, x: Symbol, /, axis: int | tuple[int, ...]) -> Value:
        return Symbol(ops.squeeze(x.x, axis=axis))

    def broadcast_to(self, x: Symbol, shape: Shape, /) -> Value:
        return x if x.shape == shape else Symbol(ops.broadcast_to(x.x, shape))

    def flip(self, x: Symbol, /, *, axis: Axis = None) -> Value:
        return Symbol(ops.flip(x.x, axis=axis))

    def roll(self, x: Symbol, /, shift: int | tuple[int, ...], *, axis: Axis = None) -> Value:
        return Symbol(ops.roll(x.x, shift, axis=axis))

    def concat(self, xs: Sequence[Value], /, axis: int = 0) -> Value:
        return Symbol(ops.concat(list(map(bare, xs)), axis=axis))

    def stack(self, xs: Sequence[Value], /, axis: int = 0) -> Value:
        return Symbol(ops.stack(list(map(bare, xs)), axis=axis))

    # -- places ----------------------------------------------------------------------------------------

    def take(self, x: Symbol, indices: Value, /, axis: int) -> Value:
        return Symbol(ops.take(x.x, bare(indices), axis=axis))

    def take_along_axis(self, x: Symbol, indices: Value, /, axis: int) -> Value:
        return Symbol(ops.take_along_axis(x.x, bare(indices), axis=axis))

    def getitem(self, x: Symbol, key: Value, /) -> Value:
        return x[key]

    def add_at(self, shape: Shape, dtype: Value, key: Value, g: Value, /) -> Value:
        return Symbol(backward.add_at(shape, bare(key), bare(g)))

    def pick(self, x: Symbol, labels: Value, /) -> Value:
        return self.squeeze(self.take_along_axis(x, labels[..., None], axis=-1), axis=-1)

    def one_hot(self, labels: Value, classes: int, dtype: Value, /) -> Value:
        return Symbol(backward.one_hot(bare(labels), classes, dtype))

    def pad(self, x: Symbol, widths: tuple[Pair, ...], value: float, /) -> Value:
        return Symbol(ops.pad(x.x, widths, value=value)) if any(map(any, widths)) else x

    def windows(self, x: Symbol, size: Pair, stride: Pair, dilation: Pair, /) -> Value:
        return Symbol(backward.windows(x.x, (size, stride, dilation)))

    def unwindows(self, g: Symbol, shape: Shape, size: Pair, stride: Pair, dilation: Pair, /) -> Value:
        return Symbol(backward.unwindows(g.x, shape, (size, stride, dilation)))

    def __getattr__(self, name: str) -> Any:  # Any: never given
        raise AttributeError(f"`case.xp.{name}` needs values, which an expression has only in a run")
