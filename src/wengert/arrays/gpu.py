"""The functions of `Namespace` over cupy. Imported when the first of its arrays is met, and not before.

Knows: cupy; that its arrays have no read-only flag, that it wants indices on the device, has no `subtract.at`, and
reports no index out of range.
Refuses to know: graphs, operations, numpy's arrays; only `to_host` makes one, `from_host` and indices take them.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Sequence

import cupy as cp
import numpy as np

from wengert.arrays import launches
from wengert.arrays.axes import broadcast_axes, expanded, taps, window_counts
from wengert.arrays.axes import expand_dims as expand_dims
from wengert.arrays.axes import permute_dims as permute_dims
from wengert.arrays.axes import reshape as reshape
from wengert.arrays.axes import squeeze as squeeze
from wengert.arrays.changes import Change, carry_out
from wengert.arrays.convolution import is_by_rows, parts_of
from wengert.arrays.linear import LinearAlgebra
from wengert.arrays.namespace import Axis, Pair, Shape, Value
from wengert.arrays.types import FLOAT32, Cpu, Gpu
from wengert.errors import ShapeError

_Unary = Callable[[Value], Value]
_Binary = Callable[[Value, Value], Value]

abs: _Unary = cp.absolute
sign: _Unary = cp.sign
sqrt: _Unary = cp.sqrt
square: _Unary = cp.square
exp: _Unary = cp.exp
log: _Unary = cp.log
log1p: _Unary = cp.log1p
expm1: _Unary = cp.expm1
sin: _Unary = cp.sin
cos: _Unary = cp.cos
tanh: _Unary = cp.tanh
tan: _Unary = cp.tan
asin: _Unary = cp.arcsin
acos: _Unary = cp.arccos
atan: _Unary = cp.arctan
sinh: _Unary = cp.sinh
cosh: _Unary = cp.cosh
asinh: _Unary = cp.arcsinh
acosh: _Unary = cp.arccosh
atanh: _Unary = cp.arctanh
log2: _Unary = cp.log2
log10: _Unary = cp.log10
exp2: _Unary = cp.exp2
floor: _Unary = cp.floor
ceil: _Unary = cp.ceil
round: _Unary = cp.rint
trunc: _Unary = cp.trunc
# CUDA's own, whose name it cannot have
erf: _Unary = cp.ElementwiseKernel("T x", "T y", "y = erf(x)", "wengert_erf")
pow: _Binary = operator.pow
divide: _Binary = cp.true_divide
atan2: _Binary = cp.arctan2
hypot: _Binary = cp.hypot
logaddexp: _Binary = cp.logaddexp
copysign: _Binary = cp.copysign
remainder: _Binary = cp.remainder
floor_divide: _Binary = cp.floor_divide
maximum: _Binary = cp.maximum
minimum: _Binary = cp.minimum
greater: _Binary = cp.greater
greater_equal: _Binary = cp.greater_equal
less: _Binary = cp.less
less_equal: _Binary = cp.less_equal
equal: _Binary = cp.equal
not_equal: _Binary = cp.not_equal
logical_and: _Binary = cp.logical_and
logical_or: _Binary = cp.logical_or
logical_not: _Unary = cp.logical_not
where: Callable[[Value, Value, Value], Value] = cp.where
matmul: _Binary = cp.matmul
zeros: Callable[[Shape, Value], Value] = cp.zeros
ones: Callable[[Shape, Value], Value] = cp.ones
full: Callable[[Shape, Value, Value], Value] = cp.full
to_host: _Unary = cp.asnumpy


_matrices = LinearAlgebra(cp)
inv, solve, det = _matrices.inv, _matrices.solve, _matrices.det
det_sign, logabsdet = _matrices.det_sign, _matrices.logabsdet
cholesky, pinv = _matrices.cholesky, _matrices.pinv
eigh, svd, qr = _matrices.eigh, _matrices.svd, _matrices.qr


def from_host(x: Value, device: Cpu | Gpu, /) -> Value:
    here = device if isinstance(device, Gpu) else cp.cuda.Device()
    with here:
        if not isinstance(x, cp.ndarray):
            return cp.asarray(x)
        _waits(here, x.device)  # what is to be copied may not have been computed
        made = cp.asarray(x)
        _waits(x.device, here)  # or its memory might be another's before it has been copied
        return made


def _waits(one: Gpu, other: Gpu) -> None:
    """Have the stream of a device wait for what that of another has been given so far; the host does not wait."""
    with other:
        done = cp.cuda.get_current_stream().record()
    with one:
        cp.cuda.get_current_stream().wait_event(done)


def relu(x: Value, /) -> Value:
    return cp.maximum(x, 0.0)


def sigmoid(x: Value, /) -> Value:
    return cp.reciprocal(cp.exp(cp.negative(x)) + 1.0)


def einsum(spec: str, /, *xs: Value) -> Value:
    return cp.einsum(spec, *xs, optimize=len(xs) > 2)


def swap_last(x: Value, /) -> Value:
    return x.swapaxes(-1, -2)


def sum(x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    return cp.sum(x, axis=axis, keepdims=keepdims)


def prod(x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    return cp.prod(x, axis=axis, keepdims=keepdims)


def mean(x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    return cp.mean(x, axis=axis, keepdims=keepdims)


def max(x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    return cp.amax(x, axis=axis, keepdims=keepdims)


def min(x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    return cp.amin(x, axis=axis, keepdims=keepdims)


def all(x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    return cp.all(x, axis=axis, keepdims=keepdims)


def any(x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    return cp.any(x, axis=axis, keepdims=keepdims)


def fourier(x: Value, inverse: bool, /) -> Value:
    lines: Value = cp.ascontiguousarray(x.swapaxes(-1, -2))
    pairs = lines.view(np.result_type(x.dtype, np.complex64))[..., 0]
    found = cp.fft.ifft(pairs, norm="forward") if inverse else cp.fft.fft(pairs)
    numbers: Value = cp.ascontiguousarray(found.astype(pairs.dtype, copy=False))
    return cp.ascontiguousarray(numbers[..., None].view(x.dtype).swapaxes(-1, -2))


def cumsum(x: Value, /, axis: int) -> Value:
    return cp.cumsum(x, axis)


def cumprod(x: Value, /, axis: int) -> Value:
    return cp.cumprod(x, axis)


def softmax(x: Value, /, axis: Axis = -1) -> Value:
    if not x.size:
        return x
    y = cp.exp(x - cp.amax(x, axis=axis, keepdims=True))
    return y / cp.sum(y, axis=axis, keepdims=True)


def log_softmax(x: Value, /, axis: Axis = -1) -> Value:
    if not x.size:
        return x
    y = x - cp.amax(x, axis=axis, keepdims=True)
    return y - cp.log(cp.sum(cp.exp(y), axis=axis, keepdims=True))


def logsumexp(x: Value, /, axis: Axis = None, keepdims: bool = False) -> Value:
    if not x.size:
        return cp.log(cp.sum(x, axis=axis, keepdims=keepdims))  # the logarithm of an empty sum
    top = cp.amax(x, axis=axis, keepdims=True)
    top = cp.where(cp.isfinite(top), top, 0.0)  # infinity minus infinity is no number
    y = cp.log(cp.sum(cp.exp(x - top), axis=axis, keepdims=True)) + top
    return y if keepdims else y.squeeze(axis)


def broadcast_to(x: Value, shape: Shape, /) -> Value:
    return cp.broadcast_to(x, shape).copy()


def flip(x: Value, /, *, axis: Axis = None) -> Value:
    return cp.flip(x, axis)


def roll(x: Value, /, shift: int | tuple[int, ...], *, axis: Axis = None) -> Value:
    return cp.roll(x, shift, axis)


def concat(xs: Sequence[Value], /, axis: int = 0) -> Value:
    return cp.concatenate(xs, axis)


def stack(xs: Sequence[Value], /, axis: int = 0) -> Value:
    shape = expanded(xs[0].shape, axis)
    return cp.concatenate([x.reshape(shape) for x in xs], axis)


def pad(x: Value, widths: tuple[Pair, ...], value: float, /) -> Value:
    if not builtins.any(map(builtins.any, widths)):
        return x
    out = cp.full(tuple(a + n + b for n, (a, b) in zip(x.shape, widths, strict=True)), value, x.dtype)
    out[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, widths, strict=True))] = x
    return out


def windows(x: Value, size: Pair, stride: Pair, dilation: Pair, /) -> Value:
    return stack([x[key] for key in taps(x.shape, size, stride, dilation)], -3)


def unwindows(g: Value, shape: Shape, size: Pair, stride: Pair, dilation: Pair, /) -> Value:
    keys = taps(shape, size, stride, dilation)
    parts = g if isinstance(g, (tuple, list)) else [g[..., place, :, :] for place in range(len(keys))]
    out = cp.zeros(shape, parts[0].dtype)
    for part, key in zip(parts, keys, strict=True):
        out[key] += part
    return out


def _seen(x: Value, kernel: Shape, stride: Pair, padding: Pair, dilation: Pair) -> list[Value]:
    """The contents of windows, for each part of a kernel: (batch, places in a part, windows)."""
    p, q = padding
    x = pad(x, ((0, 0), (0, 0), (p, p), (q, q)), 0.0)
    _, channels, height, width = kernel
    rows, columns = window_counts(x.shape, (height, width), stride, dilation)
    if not is_by_rows(kernel, stride):
        found = windows(x, (height, width), stride, dilation)
        return [found.reshape(x.shape[0], channels * height * width, rows * columns)]
    found = windows(x, (1, width), stride, dilation)
    lines = found.reshape(x.shape[0], channels * width, x.shape[2] * columns)
    starts = [columns * dilation[0] * u for u in range(height)]
    return [lines[..., start : start + rows * columns] for start in starts]


def convolve(x: Value, kernel: Value, stride: Pair, padding: Pair, dilation: Pair, /) -> Value:
    whole = tuple(n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True))
    counts = window_counts(whole, kernel.shape[2:], stride, dilation)
    seen = _seen(x, kernel.shape, stride, padding, dilation)
    first, *others = map(cp.matmul, parts_of(kernel, stride), seen)
    return builtins.sum(others, first).reshape(x.shape[0], kernel.shape[0], *counts)


def convolve_kernel(x: Value, g: Value, size: Pair, stride: Pair, padding: Pair, dilation: Pair, /) -> Value:
    made, channels = g.shape[1], x.shape[1]
    columns = swap_last(g.reshape(*g.shape[:2], g.shape[2] * g.shape[3]))
    seen = _seen(x, (made, channels, *size), stride, padding, dilation)
    each = [swap_last(sum(cp.matmul(matrix, columns), axis=0)) for matrix in seen]
    if len(each) == 1:
        return each[0].reshape(made, channels, *size)
    return stack([part.reshape(made, channels, size[1]) for part in each], 2)


def zeros_like(x: Value, /) -> Value:
    with x.device:  # it may be another than the present one
        return cp.zeros(x.shape, x.dtype)


def astype(x: Value, dtype: Value, /) -> Value:
    return x.astype(dtype)


def sum_to(g: Value, shape: Shape, /) -> Value:
    if g.shape == shape:
        return g
    return cp.sum(g, axis=broadcast_axes(g.shape, shape)).reshape(shape)


def two_norm(x: Value, /) -> float:
    largest = float(cp.amax(cp.absolute(x))) if x.size else 0.0
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    return largest * math.sqrt(float(cp.sum(square(x / largest))))


def all_finite(x: Value, /) -> bool:
    return not launches.unfinite([x])


def nonzero_safe(g: Value, r: Value, /) -> Value:
    # Asking first whether r is finite, as for numpy, would wait for the device.
    return cp.where(cp.equal(g, 0), 0.0, r)


def item(x: Value, dtype: Value, /) -> Value:
    return dtype.type(x.item()) if dtype == FLOAT32 else x.item()


def dropout_mask(shape: Shape, dtype: Value, rate: float, seed: Value, /) -> Value:
    # A device's own generator would keep other elements than the same run on the host.
    return launches.mask(shape, dtype, rate, seed) if rate else cp.ones(shape, dtype)


def dropout_masks(shape: Shape, dtype: Value, rate: Value, seeds: Value, /) -> Value:
    rates = np.broadcast_to(rate, len(seeds)).tolist()
    masks = [dropout_mask(shape, dtype, each, seed) for each, seed in zip(rates, seeds, strict=True)]
    return stack(masks) if masks else cp.empty((0, *shape), dtype)


def freeze(x: Value, /) -> Value:
    with x.device:  # on the present one a copy would be there
        return x.copy()  # private is all it can be: cupy has no read-only arrays


def as_readonly(x: Value, /) -> Value:
    return freeze(x)  # a copy, as nothing else keeps the original from being written to


def fused_update(w: Value, x: Value, d: Value, scale: float, /) -> list[Change]:
    return scaled_update(w, cp.matmul(x.T, d), scale)


def scaled_update(w: Value, d: Value, scale: float, /) -> list[Change]:
    return [(cp.subtract, w, d if scale == 1.0 else scale * d, w)]


def take(x: Value, indices: Value, /, axis: int) -> Value:
    return cp.take(x, cp.asarray(indices), axis)


def take_along_axis(x: Value, indices: Value, /, axis: int) -> Value:
    return cp.take_along_axis(x, cp.asarray(indices), axis)


def argmax(x: Value, /, axis: int | None = None, keepdims: bool = False) -> Value:
    return x.argmax(axis, keepdims=keepdims)


def argsort(x: Value, /, axis: int) -> Value:
    return x.argsort(axis)


def searchsorted(line: Value, x: Value, side: str, /) -> Value:
    return cp.searchsorted(line, x, side)


def nonzero(x: Value, size: int, axis: int, rank: int, /) -> Value:
    lead, own = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    lines = x.reshape(math.prod(lead), math.prod(own))
    counts = cp.asnumpy(cp.sum(cp.not_equal(lines, 0.0), axis=1))
    if (counts != size).any():
        raise ShapeError(f"nonzero: size is {size}, and {counts[counts != size][0]} elements are not 0")
    places: Value = cp.nonzero(lines)[1] if size else cp.zeros((0,), np.int64)
    below = cp.floor_divide(places, builtins.max(math.prod(own[axis + 1 :]), 1))
    return cp.remainder(below, builtins.max(own[axis], 1)).reshape(*lead, size)


def top_k(x: Value, k: int, axis: int, /) -> Value:
    order = cp.flip(cp.flip(x, axis).argsort(axis), axis)
    return x.shape[axis] - 1 - order[(*(slice(None),) * (axis % x.ndim), slice(k))]


def segment_max(x: Value, ids: Value, count: int, /) -> Value:
    ids = cp.asarray(ids)
    if ids.ndim == 2:  # each row into segments of its own
        rows, length = ids.shape
        apart = cp.remainder(ids, count) + cp.arange(rows)[:, None] * count
        lines = x.reshape(rows * length, *x.shape[2:])
        return segment_max(lines, apart.reshape(-1), rows * count).reshape(rows, count, *x.shape[2:])
    out = cp.full((count, *x.shape[1:]), -math.inf, x.dtype)
    cp.maximum.at(out, ids, x)
    return out


def sparse_product(constant: Value, turned: bool, x: Value, /) -> Value:
    raise NotImplementedError("a sparse matrix of SciPy is on the cpu")  # the shape rule refuses it before


def mesh(shape: Shape, /) -> tuple[Value, ...]:
    return cp.ix_(*map(cp.arange, shape))


def _on_device(key: Value) -> Value:
    """`key` with numpy's index arrays moved to the device, where cupy wants them."""
    if isinstance(key, tuple):
        return tuple(map(_on_device, key))
    return cp.asarray(key) if isinstance(key, np.ndarray | list) else key


def getitem(x: Value, key: Value, /) -> Value:
    return x[_on_device(key)]


def add_at(shape: Shape, dtype: Value, key: Value, g: Value, /) -> Value:
    out = cp.zeros(shape, dtype)
    carry_out(_added(out, key, g))
    return out


def subtract_at(w: Value, key: Value, g: Value, /) -> list[Change]:
    return _added(w, key, -g)


def _added(out: Value, key: Value, g: Value) -> list[Change]:
    # Not `cp.add.at`, which is atomic: sums in the order of a race have other bits in every run.
    key = _on_device(key)
    parts = key if isinstance(key, tuple) else (key,)
    if not builtins.any(isinstance(part, cp.ndarray) for part in parts):
        part = out[(*parts, ...)] if Ellipsis not in parts else out[key]
        return [(cp.add, part, g, part)]
    if len(parts) == 1 and key.dtype.kind in "iu":
        return launches.sums_at(out, key.reshape(-1), g.reshape(key.size, *out.shape[1:]))
    places = cp.arange(out.size).reshape(out.shape)[key].reshape(-1)  # of each element that is named
    parts_of_g = cp.broadcast_to(g, out[key].shape).reshape(-1)
    return launches.sums_at(out.reshape(-1), places, parts_of_g)


def pick(x: Value, labels: Value, /) -> Value:
    return take_along_axis(x, labels[..., None], -1)[..., 0]


def labels(labels: Value, classes: int, /) -> Value:
    if not bool(((labels >= 0) & (labels < classes)).all()):
        raise IndexError(f"labels are 0 to {classes - 1}")
    return labels


def one_hot(at: Value, classes: int, dtype: Value, /) -> Value:
    # A device does not report an index out of range, so a wrong label would leave a line of zeros; those of the host
    # are looked at there, where nobody waits for that.
    at = cp.asarray(labels(at, classes))
    return cp.equal(at[..., None], cp.arange(classes)).astype(dtype)
