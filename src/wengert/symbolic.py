"""Rules of operations on expressions in place of arrays: what derivatives of derivatives come from.

Knows: that a rule meets a symbol, which has operators, a shape, an element type and no value, and functions that make
nodes of Wengert's own operations; that numpy broadcasts where the operations of people refuse to, so that shapes are
made to fit first; that numbers of Python and numpy are computed with at once.
Refuses to know: which rule asks, and in which order rules are applied; values: a rule that asks for one cannot be
differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Final, NoReturn

from wengert import ops
from wengert.arrays import (
    Cpu,
    Gpu,
    Shape,
    Value,
    is_array,
    is_float32,
    namespace_for,
    namespace_of,
    shape_of,
)
from wengert.arrays.axes import broadcast_axes
from wengert.arrays.namespace import Pair
from wengert.errors import ShapeError
from wengert.graph.kinds import Column, Kind, kind
from wengert.graph.node import Expression
from wengert.graph.operand import lift_any
from wengert.ops import backward, fourier, segments, solving
from wengert.ops.kinds import broadcast_batch

_NUMBERS = (Column.DOUBLE, Column.FLOAT)


class Symbol:
    """An expression with the operators of arrays; each operator makes a node."""

    __slots__ = ("x",)
    __array_ufunc__: ClassVar[None] = None  # numpy's operators come to ours, its functions refuse

    def __init__(self, x: Any) -> None:  # Any: an expression with data of any column
        self.x = x

    def __add__(self, other: Value) -> Symbol:
        return _joined(ops.add, self, other)

    def __radd__(self, other: Value) -> Symbol:
        return _joined(ops.add, other, self)

    def __sub__(self, other: Value) -> Symbol:
        return _joined(ops.subtract, self, other)

    def __rsub__(self, other: Value) -> Symbol:
        return _joined(ops.subtract, other, self)

    def __mul__(self, other: Value) -> Symbol:
        return _product(self, other)

    def __rmul__(self, other: Value) -> Symbol:
        return _product(other, self)

    def __truediv__(self, other: Value) -> Symbol:
        return _joined(ops.divide, self, other)

    def __rtruediv__(self, other: Value) -> Symbol:
        return _joined(ops.divide, other, self)

    def __pow__(self, other: Value) -> Symbol:
        return _joined(ops.pow, self, other)

    def __rpow__(self, other: Value) -> Symbol:
        return _joined(ops.pow, other, self)

    def __matmul__(self, other: Value) -> Symbol:
        return Symbol(ops.matmul(self.x, bare(other)))

    def __rmatmul__(self, other: Value) -> Symbol:
        return Symbol(ops.matmul(bare(other), self.x))

    def __neg__(self) -> Symbol:
        return Symbol(ops.negative(self.x))

    def __abs__(self) -> Symbol:
        return Symbol(ops.abs(self.x))

    def __getitem__(self, key: Value) -> Symbol:
        return Symbol(ops.getitem(self.x, bare(key)))

    @property
    def shape(self) -> Shape:
        """The shape, which kinds fix for every run."""
        shape = known_shape(self.x)
        if shape is None:
            raise ShapeError(f"{self.x!r} has no shape")
        return shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:  # Any: numpy's or cupy's
        return self.x.kind.dtype

    @property
    def T(self) -> Symbol:
        return Symbol(ops.permute_dims(self.x, tuple(reversed(range(self.ndim)))))

    # what a rule cannot decide by, or do outside its namespace, where there is no value yet
    def _refuse(self, *others: object) -> NoReturn:
        raise TypeError("it needs values, which an expression has only in a run")

    __bool__ = __float__ = __int__ = __index__ = __len__ = __iter__ = __array__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __eq__ = __ne__ = _refuse
    __hash__ = object.__hash__


def bare(x: Value) -> Value:
    """`x` with expressions in place of symbols."""
    if isinstance(x, Symbol):
        return x.x
    return type(x)(map(bare, x)) if isinstance(x, (tuple, list)) else x


def known_shape(x: Value) -> Shape | None:
    """The shape of an expression, of an array or of a number; None where data have none."""
    return x.kind.shape if isinstance(x, Expression) else shape_of(x)


def joint(*xs: Value) -> list[Value]:
    """Operands, bare, that the operations of people broadcast as numpy does: ranks that differ are made equal."""
    operands = [bare(x) for x in xs]
    shapes = [known_shape(x) for x in operands]
    known = [shape for shape in shapes if shape is not None]
    ranks = {len(shape) for shape in known if shape}
    if len(ranks) < 2 or len(known) < len(shapes) or broadcast_batch(*known) in known:
        return operands
    full = max(ranks)
    return [
        _reshaped(x, (1,) * (full - len(shape)) + shape) if 0 < len(shape) < full else x
        for x, shape in zip(operands, known, strict=True)
    ]


def _reshaped(x: Value, shape: Shape) -> Value:
    """An array, or a mask, which people cannot reshape, in another shape."""
    made: Any = lift_any(x)  # Any: of either kind
    if made.kind.column is not Column.MASK:
        return ops.reshape(made, shape)
    numbers: Any = ops.where(made, 1.0, 0.0)  # Any: of the rank of the mask
    return ops.not_equal(ops.reshape(numbers, shape), 0.0)


def _joined(function: Callable[..., Value], *xs: Value) -> Symbol:
    return Symbol(function(*joint(*xs)))


def _product(a: Value, b: Value) -> Symbol:
    """A product; of numbers and arrays one through which a delta of 0 stays 0, also beside an infinity."""
    others = any(map(_is_other, (bare(a), bare(b))))
    return _joined(ops.multiply if others else backward.safe_product, a, b)


def _is_other(x: Value) -> bool:
    """True if an operand is of a user's type."""
    if isinstance(x, Expression):
        return x.kind.column is Column.OTHER
    return not (isinstance(x, (float, int)) or is_float32(x) or is_array(x))


def constant(value: float, of: Kind) -> Symbol:
    """A number as data of some kind."""
    return Symbol(backward.filled(value, of))


def fitted(delta: Value, of: Kind) -> Symbol:
    """The result of a rule, as the delta of an operand of kind `of`."""
    if not isinstance(delta, Symbol):
        return Symbol(lift_any(delta)) if is_array(delta) else constant(float(delta), of)
    got = delta.x.kind
    if of.column in _NUMBERS and got.column is Column.ARRAY:
        return Symbol(backward.item(delta.x))
    if of.column is Column.ARRAY and got.column in _NUMBERS:
        return delta * constant(1.0, of)
    if (got.shape, got.dtype) != (of.shape, of.dtype):
        raise ShapeError(f"it gave a delta of {got.text()} for an operand of {of.text()}")
    return delta


# functions that are operations of the same name: of each element, for which shapes are made to fit; of an axis; others
_ELEMENTWISE: Final = frozenset(
    {
        *("abs", "sign", "sqrt", "square", "exp", "log", "log1p", "expm1", "exp2"),
        *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
        *("asinh", "acosh", "atanh", "log2", "log10", "floor", "ceil", "trunc", "round"),
        *("sigmoid", "relu", "erf", "pow", "divide", "maximum", "minimum", "hypot", "atan2"),
        *("logaddexp", "copysign", "remainder", "floor_divide", "greater", "greater_equal"),
        *("less", "less_equal", "equal", "not_equal"),
    }
)
_ALONG: Final = frozenset(
    {
        *("sum", "prod", "mean", "max", "min", "logsumexp", "argmax", "softmax", "log_softmax"),
        *("concat", "stack"),
    }
)
_ALIKE: Final = frozenset({"matmul", "einsum", "permute_dims", "expand_dims", "squeeze", "flip", "roll"})


def _elementwise(name: str, *xs: Value) -> Value:
    """A function of each element; of numbers and arrays alone at once."""
    if any(isinstance(x, Symbol) for x in xs):
        return _joined(getattr(ops, name), *xs)
    return getattr(namespace_of(xs[0]), name)(*xs)


def _along(name: str, x: Value, *places: Value, **options: Value) -> Symbol:
    """A function along an axis, which may be given by its place."""
    return _alike(name, x, **dict(zip(("axis", "keepdims"), places, strict=False)), **options)


def _alike(name: str, *xs: Value, **options: Value) -> Symbol:
    """An operation on what a function is given."""
    return Symbol(getattr(ops, name)(*map(bare, xs), **options))


def _decided(condition: Value) -> bool:
    """True if a condition is a truth value, and no mask."""
    return not isinstance(condition, Symbol) and not is_array(condition)


class Symbolic:
    """The `case.xp` of a rule that is applied to symbols, of arrays on one device."""

    def __init__(self, device: Cpu | Gpu) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Callable[..., Value]:
        if name in _ELEMENTWISE:
            return partial(_elementwise, name)
        if name in _ALONG:
            return partial(_along, name)
        if name in _ALIKE:
            return partial(_alike, name)
        raise AttributeError(f"`case.xp.{name}` needs values, which an expression has only in a run")

    def moved(self, x: Value, device: Cpu | Gpu, /) -> Value:
        to: Any = device  # Any: one overload for each
        return Symbol(ops.to_device(bare(x), to))

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

    def inv(self, x: Symbol, /) -> Value:
        return Symbol(solving.inv(x.x))

    def solve(self, a: Value, b: Value, /) -> Value:
        return Symbol(solving.solve(bare(a), bare(b)))

    def swap_last(self, x: Symbol, /) -> Value:
        rank = x.ndim
        return Symbol(ops.permute_dims(x.x, (*range(rank - 2), rank - 1, rank - 2)))

    def fourier(self, x: Symbol, inverse: bool, /) -> Value:
        return Symbol(fourier.fourier(x.x, inverse))

    def cumsum(self, x: Symbol, /, axis: int) -> Value:
        return Symbol(ops.cumulative_sum(x.x, axis=axis))

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

    def reshape(self, x: Symbol, shape: Shape, /) -> Value:
        return x if x.shape == shape else Symbol(ops.reshape(x.x, shape))

    def broadcast_to(self, x: Symbol, shape: Shape, /) -> Value:
        return x if x.shape == shape else Symbol(ops.broadcast_to(x.x, shape))

    # -- places ----------------------------------------------------------------------------------------

    def take(self, x: Symbol, indices: Value, /, axis: int) -> Value:
        return Symbol(ops.take(x.x, bare(indices), axis=axis))

    def take_along_axis(self, x: Symbol, indices: Value, /, axis: int) -> Value:
        return Symbol(ops.take_along_axis(x.x, bare(indices), axis=axis))

    def top_k(self, x: Symbol, k: int, axis: int, /) -> Value:
        return Symbol(ops.top_k(x.x, k, axis=axis)[1])

    def getitem(self, x: Symbol, key: Value, /) -> Value:
        return x[key]

    def add_at(self, shape: Shape, dtype: Value, key: Value, g: Value, /) -> Value:
        return Symbol(backward.add_at(shape, bare(key), bare(g)))

    def segment_max(self, x: Symbol, ids: Value, count: int, /) -> Value:
        return Symbol(ops.segment_max(x.x, bare(ids), num_segments=count))

    def sparse_product(self, constant: Value, turned: bool, x: Symbol, /) -> Value:
        return Symbol(segments.sparse_product(constant, turned, x.x))

    def pick(self, x: Symbol, labels: Value, /) -> Value:
        return self.squeeze(self.take_along_axis(x, labels[..., None], axis=-1), axis=-1)

    def one_hot(self, labels: Value, classes: int, dtype: Value, /) -> Value:
        return Symbol(backward.one_hot(bare(labels), classes, dtype))

    def pad(self, x: Symbol, widths: tuple[Pair, ...], value: float, /) -> Value:
        return Symbol(ops.pad(x.x, widths, value=value)) if any(map(any, widths)) else x

    def windows(self, x: Symbol, size: Pair, stride: Pair, dilation: Pair, /) -> Value:
        return Symbol(backward.windows(x.x, (size, stride, dilation)))

    def unwindows(self, g: Value, shape: Shape, size: Pair, stride: Pair, dilation: Pair, /) -> Value:
        whole = self.stack(g, axis=2) if isinstance(g, (tuple, list)) else g
        return Symbol(backward.unwindows(whole.x, shape, (size, stride, dilation)))

    def convolve(self, x: Value, kernel: Value, *places: Pair) -> Value:
        slides: Any = dict(zip(("stride", "padding", "dilation"), places, strict=True))  # Any: of keywords
        return Symbol(ops.conv2d(bare(x), bare(kernel), **slides))

    def convolve_kernel(self, x: Value, g: Value, size: Pair, *places: Pair) -> Value:
        """A sum over images is one over channels of images and deltas with these axes exchanged."""
        images, deltas = (self.permute_dims(each, (1, 0, 2, 3)) for each in (x, g))
        whole = self.convolve(images, deltas, *reversed(places))
        return self.permute_dims(whole[:, :, : size[0], : size[1]], (1, 0, 2, 3))
