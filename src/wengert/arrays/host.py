"""The functions of `Namespace` over numpy.

Knows: numpy, and which of its spellings is fastest; its strides: a copy of all windows at once takes two thirds of
the time of one copy a place.
Refuses to know: graphs, operations, other array libraries. Expects shapes that fit: whoever builds a node
has checked them.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from wengert.arrays.axes import expand_dims as expand_dims
from wengert.arrays.axes import expanded, taps, window_counts
from wengert.arrays.axes import permute_dims as permute_dims
from wengert.arrays.axes import reshape as reshape
from wengert.arrays.axes import squeeze as squeeze
from wengert.arrays.blas import fused_update as fused_update
from wengert.arrays.chance import dropout_mask as dropout_mask
from wengert.arrays.chance import dropout_masks as dropout_masks
from wengert.arrays.changes import Change
from wengert.arrays.contraction import einsum as einsum
from wengert.arrays.contraction import matmul as matmul
from wengert.arrays.convolution import convolve as convolve
from wengert.arrays.convolution import convolve_kernel as convolve_kernel
from wengert.arrays.erf import erf as erf
from wengert.arrays.linear import LinearAlgebra
from wengert.arrays.namespace import Axis, Pair, Shape, Value
from wengert.arrays.ownership import as_readonly as as_readonly
from wengert.arrays.ownership import freeze as freeze
from wengert.arrays.reductions import greatest as greatest
from wengert.arrays.reductions import max as max
from wengert.arrays.reductions import mean as mean
from wengert.arrays.reductions import min as min
from wengert.arrays.reductions import prod as prod
from wengert.arrays.reductions import sum as sum
from wengert.arrays.reductions import sum_to as sum_to
from wengert.arrays.scatter import add_at as add_at
from wengert.arrays.scatter import labels as labels
from wengert.arrays.scatter import one_hot as one_hot
from wengert.arrays.scatter import pick as pick
from wengert.arrays.scatter import segment_max as segment_max
from wengert.arrays.scatter import subtract_at as subtract_at
from wengert.arrays.types import FLOAT64, Cpu, Gpu
from wengert.errors import ShapeError

_Unary = Callable[[Value], Value]
_Binary = Callable[[Value, Value], Value]

# Assigned as they are: a Python function around each would cost 0.05 us of the 0.3 us of a small ufunc.
abs: _Unary = np.absolute
sign: _Unary = np.sign
sqrt: _Unary = np.sqrt
square: _Unary = np.square
exp: _Unary = np.exp
log: _Unary = np.log
log1p: _Unary = np.log1p
expm1: _Unary = np.expm1
sin: _Unary = np.sin
cos: _Unary = np.cos
tanh: _Unary = np.tanh
tan: _Unary = np.tan
asin: _Unary = np.arcsin
acos: _Unary = np.arccos
atan: _Unary = np.arctan
sinh: _Unary = np.sinh
cosh: _Unary = np.cosh
asinh: _Unary = np.arcsinh
acosh: _Unary = np.arccosh
atanh: _Unary = np.arctanh
log2: _Unary = np.log2
log10: _Unary = np.log10
exp2: _Unary = np.exp2
floor: _Unary = np.floor
ceil: _Unary = np.ceil
round: _Unary = np.rint
trunc: _Unary = np.trunc
pow: _Binary = operator.pow  # numpy's operator knows squares and roots, its function does not
divide: _Binary = np.true_divide
atan2: _Binary = np.arctan2
hypot: _Binary = np.hypot
logaddexp: _Binary = np.logaddexp
copysign: _Binary = np.copysign
remainder: _Binary = np.remainder
floor_divide: _Binary = np.floor_divide
maximum: _Binary = np.maximum
minimum: _Binary = np.minimum
greater: _Binary = np.greater
greater_equal: _Binary = np.greater_equal
less: _Binary = np.less
less_equal: _Binary = np.less_equal
equal: _Binary = np.equal
not_equal: _Binary = np.not_equal
logical_and: _Binary = np.logical_and
logical_or: _Binary = np.logical_or
logical_not: _Unary = np.logical_not
where: Callable[[Value, Value, Value], Value] = np.where
getitem: _Binary = operator.getitem
zeros: Callable[[Shape, Value], Value] = np.zeros
ones: Callable[[Shape, Value], Value] = np.ones
full: Callable[[Shape, Value, Value], Value] = np.full
to_host: _Unary = np.asarray


_matrices = LinearAlgebra(np)
inv, solve, det = _matrices.inv, _matrices.solve, _matrices.det
det_sign, logabsdet = _matrices.det_sign, _matrices.logabsdet
cholesky, pinv = _matrices.cholesky, _matrices.pinv
eigh, svd, qr = _matrices.eigh, _matrices.svd, _matrices.qr


def from_host(x: Value, device: Cpu | Gpu, /) -> Value:
    return x


def relu(x: Value, /) -> Value:
    return np.maximum(x, 0.0)


def sigmoid(x: Value, /) -> Value:
    # exp overflows to infinity for very negative x, and 1 / infinity is the right 0
    y = np.exp(np.negative(x))
    y += 1.0
    return np.reciprocal(y)


def swap_last(x: Value, /) -> Value:
    return x.T if x.ndim == 2 else x.swapaxes(-1, -2)


def all(x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    return np.all(x, axis=axis, keepdims=keepdims)


def any(x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    return np.any(x, axis=axis, keepdims=keepdims)


def fourier(x: Value, inverse: bool, /) -> Value:
    if x.dtype.kind == "c":
        raise TypeError("complex numbers are pairs of real ones here")
    lines = np.empty((*x.shape[:-2], x.shape[-1]), np.result_type(x.dtype, np.complex64))
    lines.real, lines.imag = x[..., 0, :], x[..., 1, :]
    found = np.fft.ifft(lines, norm="forward") if inverse else np.fft.fft(lines)
    made = np.empty(x.shape, x.dtype)
    made[..., 0, :], made[..., 1, :] = found.real, found.imag
    return made


def cumsum(x: Value, /, axis: int) -> Value:
    return np.add.accumulate(x, axis)


def cumprod(x: Value, /, axis: int) -> Value:
    return np.multiply.accumulate(x, axis)


def plus_top(y: Value, top: Value, /) -> Value:
    """`y + top` for `y` of at least 0, and `top` itself where it is infinite or NaN: there `y` is NaN."""
    return np.fmax(y + top, top)


# In the same steps as the pieces that plans are made of, so that both give the same bits.


def softmax(x: Value, /, axis: int = -1) -> Value:
    y = np.exp(x - greatest(x, axis))
    y /= expand_dims(sum(y, axis), axis)
    return y


def log_softmax(x: Value, /, axis: int = -1) -> Value:
    y = x - greatest(x, axis)
    y -= expand_dims(np.log(sum(np.exp(y), axis)), axis)
    return y


def logsumexp(x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    top = greatest(x, axis)
    y = np.log(sum(np.exp(x - top), axis, keepdims))
    return plus_top(y, top if keepdims else top.squeeze(axis))


def broadcast_to(x: Value, shape: Shape, /) -> Value:
    # A copy, because numpy's view takes 2.3 us to make where small copies take 0.5
    out = np.empty(shape, x.dtype)
    out[...] = x
    return out


def flip(x: Value, /, *, axis: Axis = None) -> Value:
    return np.flip(x, axis)


def roll(x: Value, /, shift: int | tuple[int, ...], *, axis: Axis = None) -> Value:
    return np.roll(x, shift, axis)


def concat(xs: Sequence[Value], /, axis: int = 0) -> Value:
    return np.concatenate(xs, axis)


def stack(xs: Sequence[Value], /, axis: int = 0) -> Value:
    shape = expanded(xs[0].shape, axis)
    return np.concatenate([x.reshape(shape) for x in xs], axis)


def take(x: Value, indices: Value, /, axis: int) -> Value:
    return x.take(indices, axis)


def take_along_axis(x: Value, indices: Value, /, axis: int) -> Value:
    return np.take_along_axis(x, indices, axis)


def argmax(x: Value, /, axis: int | None = None, keepdims: bool = False) -> Value:
    return np.argmax(x, axis, keepdims=keepdims)


def argsort(x: Value, /, axis: int) -> Value:
    return np.argsort(x, axis, kind="stable")


def searchsorted(line: Value, x: Value, side: str, /) -> Value:
    return np.searchsorted(line, x, "right" if side == "right" else "left")


def nonzero(x: Value, size: int, axis: int, rank: int, /) -> Value:
    """Places along one of the last `rank` axes, which are one array: of its elements `size` are not 0."""
    lead, own = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    lines = x.reshape(math.prod(lead), math.prod(own))
    counts = np.count_nonzero(lines, axis=1)
    if (counts != size).any():
        raise ShapeError(f"nonzero: size is {size}, and {counts[counts != size][0]} elements are not 0")
    places = np.nonzero(lines)[1]
    return (places // builtins.max(math.prod(own[axis + 1 :]), 1) % builtins.max(own[axis], 1)).reshape(
        *lead, size
    )


def top_k(x: Value, k: int, axis: int, /) -> Value:
    """The places of the k greatest of each line, the greatest first, of equal ones the first; NaN is the greatest."""
    line = np.flip(x, axis)
    # turned twice, so that equal ones keep order
    order = np.flip(np.argsort(line, axis, kind="stable"), axis)
    return x.shape[axis] - 1 - order[(*(slice(None),) * (axis % x.ndim), slice(k))]


def sparse_product(constant: Value, turned: bool, x: Value, /) -> Value:
    matrix = constant.matrix.T if turned else constant.matrix
    return np.asarray(matrix @ x, x.dtype)


def mesh(shape: Shape, /) -> tuple[Value, ...]:
    return np.ix_(*map(np.arange, shape))


def zeros_like(x: Value, /) -> Value:
    return np.zeros(x.shape, x.dtype)


def astype(x: Value, dtype: Value, /) -> Value:
    return x.astype(dtype, casting="same_kind")  # what would lose more than digits is a mistake


def two_norm(x: Value, /) -> float:
    total = float(np.sum(np.square(x).reshape(-1)))  # in the order of C, whatever that of the memory is
    if not x.size or 1e-30 < total < math.inf:
        return math.sqrt(total)
    largest = float(np.abs(x).max())
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    return largest * math.sqrt(float(np.sum(np.square(x / largest).reshape(-1))))


def all_finite(x: Value, /) -> bool:
    # The square sum is one pass; it is finite only where all elements are, and rarely overflows.
    return math.isfinite(np.vdot(x, x).real) or bool(np.isfinite(x).all())


def nonzero_safe(g: Value, r: Value, /) -> Value:
    # Where r is finite, so is the local derivative, and 0 times it is 0 already.
    if all_finite(r):
        return r
    return np.where(np.logical_and(np.equal(g, 0), np.logical_not(np.isfinite(r))), 0.0, r)


def item(x: Value, dtype: Value, /) -> Value:
    return x.item() if dtype == FLOAT64 else dtype.type(x)


def scaled_update(w: Value, d: Value, scale: float, /) -> list[Change]:
    return [(np.subtract, w, d if scale == 1.0 else scale * d, w)]


def pad(x: Value, widths: tuple[Pair, ...], value: float, /) -> Value:
    """`x` with `value` around it: so many elements before and after on each axis.

    >>> pad(np.ones(2), ((1, 2),), 0.5).tolist()
    [0.5, 1.0, 1.0, 0.5, 0.5]
    """
    if not builtins.any(map(builtins.any, widths)):
        return x
    out = np.full([a + n + b for n, (a, b) in zip(x.shape, widths, strict=True)], value, x.dtype)
    out[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, widths, strict=True))] = x
    return out


def windows(x: Value, size: Pair, stride: Pair, dilation: Pair, /) -> Value:
    """A copy of the contents of each window, their places on an axis before the last two.

    >>> windows(np.arange(4.0).reshape(1, 1, 1, 4), (1, 2), (1, 1), (1, 2))[0, 0].tolist()
    [[[0.0, 1.0]], [[2.0, 3.0]]]
    """
    counts = window_counts(x.shape, size, stride, dilation)
    out = np.empty((*x.shape[:-2], size[0] * size[1], *counts), x.dtype)
    return windows_into(x, size, stride, dilation, out=out)


def windows_into(x: Value, size: Pair, stride: Pair, dilation: Pair, /, *, out: Value) -> Value:
    """`windows`, written to an array in C order."""
    counts = out.shape[-2:]
    *outer, down, right = x.strides
    steps = (down * dilation[0], right * dilation[1], down * stride[0], right * stride[1])
    view = as_strided(x, (*x.shape[:-2], *size, *counts), (*outer, *steps), writeable=False)
    np.copyto(out.reshape(view.shape), view)
    return out


def unwindows(g: Value, shape: Shape, size: Pair, stride: Pair, dilation: Pair, /) -> Value:
    """Zeros of `shape` with what each window has seen added where it saw it: the delta of `windows`.

    `g` is one array, or a sequence of one for each place in a window.

    >>> g = np.ones((1, 1, 2, 1, 3))
    >>> unwindows(g, (1, 1, 1, 4), (1, 2), (1, 1), (1, 1)).tolist()
    [[[[1.0, 2.0, 2.0, 1.0]]]]
    """
    dtype = g[0].dtype if isinstance(g, (tuple, list)) else g.dtype
    return unwindows_into(g, shape, size, stride, dilation, out=np.empty(shape, dtype))


def unwindows_into(
    g: Value, shape: Shape, size: Pair, stride: Pair, dilation: Pair, /, *, out: Value
) -> Value:
    """`unwindows`, written to an array."""
    shape = out.shape
    keys = taps(shape[-2:], size, stride, dilation)
    parts = g if isinstance(g, (tuple, list)) else [g[..., place, :, :] for place in range(len(keys))]
    rows, columns = parts[0].shape[-2:]
    apart = builtins.all(s > d * (k - 1) for k, s, d in zip(size, stride, dilation, strict=True))
    if not apart or len(keys) * rows * columns < shape[-2] * shape[-1]:  # else each element is in one window
        out.fill(0)
    for part, key in zip(parts, keys, strict=True):
        if apart:
            out[key] = part
        else:
            out[key] += part
    return out
