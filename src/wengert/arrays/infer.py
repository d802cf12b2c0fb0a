"""Shape, element type, form and layout of what each array function gives, before anything is computed.

Knows: that sizes may be multiples of a number of rows; that the element type and the form of a result do not depend on
sizes, so that they are asked of the function itself, on one element.
Refuses to know: operations, derivatives.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from operator import add
from typing import Any, Final

import numpy as np

from wengert.arrays import SCALAR, contraction, host, kernels, reductions, thin
from wengert.arrays.abstract import (
    UNKNOWN,
    Aval,
    Form,
    Order,
    RowCount,
    Size,
    Sizes,
    broadcast_sizes,
    indexed_sizes,
)
from wengert.arrays.axes import expanded, window_counts
from wengert.arrays.chance import dropout_mask, dropout_masks
from wengert.arrays.dispatch import is_array
from wengert.arrays.namespace import Function, ScalarNamespace
from wengert.arrays.ownership import is_turned
from wengert.arrays.scatter import places, starts, within
from wengert.arrays.segments import sum_rows
from wengert.arrays.types import INTEGER
from wengert.arrays.values import require_finite

# of a function and its arguments: abstract values, constants, and tuples of them
Inference = Callable[..., Aval]
_RULES: Final[dict[Function, Inference]] = {}


def infers(*functions: Function) -> Callable[[Inference], Inference]:
    """Register the rule of some functions."""

    def register(rule: Inference) -> Inference:
        _RULES.update(dict.fromkeys(functions, rule))
        return rule

    return register


def aval_of(x: Any) -> Aval:  # Any: data
    """The abstract value of a value that is there."""
    if isinstance(x, np.ndarray) and x.ndim:
        return Aval(x.shape, x.dtype, "array", _order_of(x))
    if isinstance(x, (np.generic, np.ndarray)):
        return Aval((), x.dtype, "scalar")
    if isinstance(x, (bool, int, float)):
        return Aval((), type(x), "number")
    return Aval(getattr(x, "shape", ()), getattr(x, "dtype", None), "other", "other")


def aval_on_device(x: Any) -> Aval:  # Any: data
    """The abstract value of a value that a program of a device is given."""
    found = aval_of(x)
    if found.form != "other" or not is_array(x):
        return found
    return Aval(x.shape, x.dtype, "array", _order_of(x)) if x.ndim else Aval((), x.dtype, "scalar")


def _order_of(x: Any) -> Order:  # Any: an array of numpy's
    if x.flags.c_contiguous:
        return "compact"
    return "other" if is_turned(x) else "gaps"


# Any: as in Inference
def infer(function: Function, arguments: Sequence[Any], options: Mapping[str, Any]) -> Aval:
    """The abstract value of a call on abstract values and constants; `TypeError` for a function without a rule."""
    if any(map(_is_unknown, (*arguments, *options.values()))):
        return UNKNOWN
    rule = _RULES.get(function)
    if rule is None:
        raise TypeError(f"no shape is known of what {getattr(function, '__name__', function)} gives")
    found = rule(function, *arguments, **options)
    return found if found.shape or found.form != "array" else Aval((), found.dtype, "scalar")


def _is_unknown(x: Any) -> bool:  # Any: as in Inference
    return x.form == "other" if isinstance(x, Aval) else isinstance(x, tuple) and any(map(_is_unknown, x))


# -- element type and form, by one element -------------------------------------------------------------


def _shape(x: Any) -> Sizes:  # Any: an abstract value or a constant
    return x.shape if isinstance(x, Aval) else np.shape(x)


@lru_cache(maxsize=4096, typed=True)  # typed: 1, 1.0 and True give other types
def _probed(function: Function, options: tuple[tuple[str, Any], ...], *samples: Any) -> Aval:
    with np.errstate(all="ignore"):
        return aval_of(function(*map(_one, samples), **dict(options)))


def _one(sample: Any) -> Any:  # Any: a constant number, or the form, rank and type of an operand
    if not isinstance(sample, tuple):
        return sample
    form, rank, dtype = sample
    if form == "number":
        return dtype(1)
    return dtype.type(1) if form == "scalar" else np.ones((1,) * rank, dtype)


def _sample(x: Any) -> Any:  # Any: an abstract value or a constant
    if isinstance(x, Aval):
        return x.form, len(x.shape), x.dtype
    if isinstance(x, RowCount):
        return 1
    if isinstance(x, np.ndarray):
        return "array" if x.ndim else "scalar", x.ndim, x.dtype
    return x


def _probe(function: Function, shape: Sizes, *xs: Any, order: Order = "compact", **options: Any) -> Aval:
    found = _probed(function, tuple(options.items()), *map(_sample, xs))
    return Aval(shape, found.dtype, found.form, order)


def _ordered(xs: Iterable[Any]) -> Order:
    """The layout of a result made element by element: C order if no operand has another."""
    arrays = [aval_of(x) if isinstance(x, np.ndarray) else x for x in xs]
    other = any(isinstance(x, Aval) and x.order == "other" and len(x.shape) > 1 for x in arrays)
    return "other" if other else "compact"


def _functions_of(namespace: Any) -> list[Function]:  # Any: a module of functions of numbers
    return [f for name, f in vars(namespace).items() if callable(f) and name in vars(ScalarNamespace)]


_ELEMENTWISE: Final[tuple[Function, ...]] = (
    *(f for f, k in kernels.KERNELS.items() if k.elementwise and f is not kernels.minus_one_at),
    *(operator.pow, operator.gt, operator.lt, operator.ge, operator.le, operator.eq, operator.ne),
    *(np.where, np.sign, host.erf, host.item, host.plus_top, operator.not_, abs),
    *_functions_of(SCALAR),
)


@infers(*_ELEMENTWISE)
def _elementwise(f: Function, *xs: Any) -> Aval:
    shape = broadcast_sizes(*map(_shape, xs))
    return _probe(f, shape, *xs, order=_ordered(xs))


@infers(SCALAR.where, SCALAR.maximum, SCALAR.minimum, SCALAR.nonzero_safe)
def _chosen(f: Function, *xs: Any) -> Aval:
    """One of several numbers: of an unknown type where theirs differ."""
    found = {(x.form, x.dtype) for x in (_as_aval(x) for x in xs[f is SCALAR.where :])}
    if f is SCALAR.nonzero_safe:
        found.add(("number", float))  # 0.0
    if len(found) > 1:
        return UNKNOWN
    ((form, dtype),) = found
    return Aval((), dtype, form)


def _as_aval(x: Any) -> Aval:
    return x if isinstance(x, Aval) else aval_of(x)


@infers(host.nonzero_safe)
def _nonzero_safe(f: Function, g: Any, r: Aval) -> Aval:
    shape = broadcast_sizes(_shape(g), r.shape)
    alike = r.order == _ordered((g, r)) and shape == r.shape  # r itself, or new
    return Aval(shape, r.dtype, r.form, r.order if alike else "other")


# -- reductions and products ---------------------------------------------------------------------------


def _axes(axis: Any, rank: int) -> list[int]:
    return (
        [*range(rank)] if axis is None else [a % rank for a in ((axis,) if isinstance(axis, int) else axis)]
    )


@infers(
    *(reductions.add_reduce, reductions.max_reduce, reductions.min_reduce, reductions.prod),
    *(host.sum, host.max, host.min, host.mean, host.logsumexp),
)
def _reduced(f: Function, x: Aval, /, axis: Any = None, keepdims: bool = False, **options: Any) -> Aval:
    axes = _axes(axis, len(x.shape))
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes)
    order: Order = "compact" if len(shape) < 2 or x.order != "other" else "other"
    return _probe(f, shape, x, order=order, axis=axis, keepdims=keepdims, **options)


@infers(host.argmax, host.all, host.any)
def _placed(f: Function, x: Aval, /, axis: Any = None, keepdims: bool = False) -> Aval:
    return _reduced(f, x, axis=axis, keepdims=keepdims)


@infers(host.argsort)
def _argsort(f: Function, x: Aval, /, axis: int) -> Aval:
    return Aval(x.shape, INTEGER, "array", "other")


@infers(host.searchsorted)
def _searchsorted(f: Function, line: Aval, x: Aval, side: str, /) -> Aval:
    return Aval(x.shape, INTEGER, "array" if x.shape else "scalar", "compact")


@infers(host.two_norm, SCALAR.two_norm)
def _two_norm(f: Function, x: Aval, /) -> Aval:
    return Aval((), float, "number")


@infers(require_finite)
def _require_finite(f: Function, *xs: Aval) -> Aval:
    return Aval((), bool, "number")


@infers(host.nonzero)
def _nonzero(f: Function, x: Aval, size: int, axis: int, rank: int, /) -> Aval:
    return Aval((*x.shape[: len(x.shape) - rank], size), INTEGER, "array", "compact")


@infers(host.inv, host.cholesky)
def _matrix(f: Function, x: Aval, /) -> Aval:
    return Aval(x.shape, x.dtype, "array", "other")


@infers(host.det, host.det_sign, host.logabsdet)
def _number_of_each(f: Function, x: Aval, /) -> Aval:
    return Aval(x.shape[:-2], x.dtype, "array" if x.shape[2:] else "scalar", "compact")


@infers(host.solve)
def _solve(f: Function, a: Aval, b: Aval, /) -> Aval:
    before = broadcast_sizes(a.shape[:-2], b.shape[:-2])
    return Aval((*before, *b.shape[-2:]), b.dtype, "array", "other")


@infers(host.sparse_product)
def _sparse_product(f: Function, constant: Any, turned: bool, x: Aval, /) -> Aval:
    rows = constant.matrix.shape[1 if turned else 0]
    return Aval((rows, *x.shape[1:]), x.dtype, "array", "other")


@infers(host.segment_max)
def _segment_max(f: Function, x: Aval, ids: Aval, count: int, /) -> Aval:
    rows = ids.shape[:-1]  # each of which has segments of its own
    return Aval((*rows, count, *x.shape[len(rows) + 1 :]), x.dtype, "array", "compact")


@infers(sum_rows)
def _sum_rows(f: Function, plan: Aval, x: Aval, sums: Size, /) -> Aval:
    return Aval((sums, *x.shape[1:]), x.dtype)


@infers(host.top_k)
def _top_k(f: Function, x: Aval, k: int, axis: int, /) -> Aval:
    at = axis % len(x.shape)
    return Aval((*x.shape[:at], k, *x.shape[at + 1 :]), INTEGER, "array", "other")


@infers(host.greatest)
def _greatest(f: Function, x: Aval, axis: Any) -> Aval:
    return _reduced(reductions.max_reduce, x, axis=axis, keepdims=True)


@infers(host.sum_to)
def _sum_to(f: Function, g: Aval, shape: Sizes) -> Aval:
    kept = g.shape == shape or (g.order == "other" and len(shape) > 1)
    return Aval(shape, g.dtype, "array" if shape else "scalar", g.order if kept else "compact")


@infers(host.fourier, host.cumsum, host.cumprod, host.flip, host.roll, host.softmax, host.log_softmax)
def _same_shape(f: Function, x: Aval, *others: Any, **options: Any) -> Aval:
    return Aval(x.shape, x.dtype, "array", "other" if f is host.flip else _ordered((x,)))


@infers(np.dot, np.matmul, contraction.in_order, np.vecdot, thin.dot, thin.product)
def _product(f: Function, a: Any, b: Any) -> Aval:
    s, t = _shape(a), _shape(b)
    if f is np.vecdot:
        shape = broadcast_sizes(s, t)[:-1]
    elif len(s) == 1 or len(t) == 1:
        shape = (*s[:-1], *t[:-2], *t[-1:]) if len(t) > 1 else s[:-1]
    else:
        shape = (*broadcast_sizes(s[:-2], t[:-2]), s[-2], t[-1])
    return _probe(np.matmul if f in (thin.dot, thin.product) else f, shape, a, b)


@infers(host.einsum)
def _einsum(f: Function, spec: str, *xs: Aval) -> Aval:
    given, result = spec.replace(" ", "").split("->")
    sizes = {
        c: n for part, x in zip(given.split(","), xs, strict=True) for c, n in zip(part, x.shape, strict=True)
    }
    return Aval(tuple(sizes[c] for c in result), xs[0].dtype, "array" if result else "scalar", "other")


# -- views and copies ----------------------------------------------------------------------------------


@infers(host.reshape)
def _reshape(f: Function, x: Aval, shape: Any) -> Aval:
    sizes: tuple[Any, ...] = shape if isinstance(shape, tuple) else (shape,)
    if -1 in sizes:
        rest = math.prod(n for n in sizes if n != -1)
        sizes = tuple(math.prod(x.shape) // rest if n == -1 else n for n in sizes)
    return Aval(sizes, x.dtype, "array", "compact" if x.order == "compact" else "other")


@infers(host.permute_dims)
def _permute(f: Function, x: Aval, axes: Any) -> Aval:
    kept = [a % len(x.shape) for a in axes if x.shape[a] != 1]
    compact = x.order == "compact" and kept == sorted(kept)
    return Aval(tuple(x.shape[a] for a in axes), x.dtype, "array", "compact" if compact else "other")


@infers(kernels.transposed_copy)
def _transposed_copy(f: Function, x: Aval) -> Aval:
    return Aval(x.shape[::-1], x.dtype)


@infers(host.swap_last, kernels.transposed)
def _swapped(f: Function, x: Aval) -> Aval:
    shape = x.shape[::-1] if f is kernels.transposed else (*x.shape[:-2], x.shape[-1], x.shape[-2])
    line = x.order == "compact" and sum(n != 1 for n in x.shape) < 2
    return Aval(shape, x.dtype, "array", "compact" if line else "other")


@infers(host.expand_dims)
def _expand(f: Function, x: Aval, axis: Any) -> Aval:
    shape: Any = x.shape  # Any: axes count sizes, and do not look at them
    return Aval(expanded(shape, axis), x.dtype, "array", x.order)


@infers(host.squeeze)
def _squeeze(f: Function, x: Aval, axis: Any) -> Aval:
    out = _axes(axis, len(x.shape))
    return Aval(tuple(n for i, n in enumerate(x.shape) if i not in out), x.dtype, "array", x.order)


@infers(host.broadcast_to)
def _broadcast_to(f: Function, x: Any, shape: Sizes) -> Aval:
    return Aval(shape, x.dtype)


@infers(host.astype)
def _astype(f: Function, x: Aval, dtype: Any) -> Aval:
    return Aval(x.shape, np.dtype(dtype), x.form, _ordered((x,)))


def _total(sizes: Sequence[Size]) -> Size:
    rows = [n for n in sizes if isinstance(n, RowCount)]
    if rows and len(rows) < len(sizes):
        raise TypeError(f"{sizes} do not add up to a multiple of the number of rows")
    return reduce(add, rows) if rows else sum(n for n in sizes if isinstance(n, int))


@infers(kernels.joined, host.concat)
def _joined(f: Function, xs: Any, axis: int = 0) -> Aval:
    avals = [_as_aval(x) for x in xs]
    at, first = axis % len(avals[0].shape), avals[0].shape
    size = _total([x.shape[at] for x in avals])
    dtype = np.result_type(*[x.dtype for x in avals])
    return Aval((*first[:at], size, *first[at + 1 :]), dtype, "array", _ordered(avals))


@infers(host.stack)
def _stack(f: Function, xs: Any, axis: int = 0) -> Aval:
    avals = [_as_aval(x) for x in xs]
    shape = avals[0].shape
    at = axis % (len(shape) + 1)
    dtype = np.result_type(*[x.dtype for x in avals])
    return Aval((*shape[:at], len(avals), *shape[at:]), dtype, "array", _ordered(avals))


@infers(kernels.gathered)
def _gathered(f: Function, dtype: Any, *xs: Any) -> Aval:
    return Aval((len(xs), *_shape(xs[0])), np.dtype(dtype))


@infers(kernels.in_each)
def _in_each(f: Function, at: Any, x: Aval) -> Aval:
    return Aval((x.shape[0] * math.prod(_shape(at)),), np.dtype(np.intp))


@infers(float, np.float32)
def _number(f: Function, x: Any) -> Aval:
    return Aval((), float, "number") if f is float else Aval((), np.dtype(np.float32), "scalar")


@infers(host.pad)
def _pad(f: Function, x: Aval, widths: Any, value: float) -> Aval:
    sizes = [n if a == b == 0 else n + a + b for n, (a, b) in zip(x.shape, widths, strict=True)]
    return Aval(tuple(sizes), x.dtype, "array", _ordered((x,)))


# -- places --------------------------------------------------------------------------------------------


@infers(operator.getitem)
def _getitem(f: Function, x: Aval, key: Any) -> Aval:
    parts = list(key) if isinstance(key, tuple) else [key]
    shape = indexed_sizes(x.shape, tuple(parts))
    arrays = any(isinstance(p, Aval) or bool(np.ndim(p)) for p in parts if not isinstance(p, slice))
    form: Form = (
        "array" if shape or Ellipsis in [p for p in parts if isinstance(p, type(Ellipsis))] else "scalar"
    )
    return Aval(shape, x.dtype, form, "other" if arrays else _order_of_view(x, parts))


def _order_of_view(x: Aval, parts: Sequence[Any]) -> Order:
    """The layout of a view by integers, slices, None and Ellipsis."""
    if x.order == "other" or any(isinstance(p, slice) and p.step is not None and p.step < 0 for p in parts):
        return "other"
    if not parts:
        return x.order
    first, rest = parts[0], parts[1:]
    lines = all(isinstance(p, type(Ellipsis)) or p == slice(None) for p in rest)
    whole = isinstance(first, int) or (isinstance(first, slice) and first.step in (None, 1))
    return "compact" if x.order == "compact" and lines and whole else "gaps"


@infers(host.take)
def _take(f: Function, x: Aval, indices: Any, axis: int) -> Aval:
    at = axis % len(x.shape)
    shape = (*x.shape[:at], *_shape(indices), *x.shape[at + 1 :])
    return Aval(shape, x.dtype, "array" if shape else "scalar")


@infers(host.take_along_axis)
def _along(f: Function, x: Aval, indices: Any, axis: int) -> Aval:
    at, shape = axis % len(x.shape), _shape(indices)
    rest = broadcast_sizes(*((*s[:at], 1, *s[at + 1 :]) for s in (x.shape, shape)))
    return Aval((*rest[:at], shape[at], *rest[at + 1 :]), x.dtype, "array", "other")


@infers(host.add_at, np.zeros, np.ones)
def _filled(f: Function, shape: Any, dtype: Any, *others: Any) -> Aval:
    return Aval(shape if isinstance(shape, tuple) else (shape,), np.dtype(dtype))


@infers(np.full)
def _full(f: Function, shape: Any, value: Any, dtype: Any) -> Aval:
    return _filled(f, shape, dtype)


@infers(np.arange)
def _arange(f: Function, n: Any) -> Aval:
    return Aval((n,), np.dtype(np.intp))


@infers(reductions.ones_of)
def _ones(f: Function, n: Any, dtype: Any) -> Aval:
    return Aval((n,), np.dtype(dtype))


@infers(host.zeros_like)
def _zeros_like(f: Function, x: Aval) -> Aval:
    return Aval(x.shape, x.dtype, x.form if x.form == "number" else "array")


@infers(host.labels)
def _labels(f: Function, x: Aval, classes: int) -> Aval:
    return x


@infers(within)
def _within(f: Function, x: Aval, count: int) -> Aval:
    return Aval((), bool, "number")


@infers(kernels.minus_one_at)
def _minus_one(f: Function, x: Aval, at: Any) -> Aval:
    return Aval(x.shape, x.dtype)


@infers(places)
def _places(f: Function, labels: Aval, classes: int) -> Aval:
    return Aval((math.prod(labels.shape),), np.dtype(np.intp))


@infers(starts)
def _starts(f: Function, lines: Size, classes: int) -> Aval:
    return Aval((lines,), np.dtype(np.intp))


@infers(kernels.ones_at)
def _ones_at(f: Function, at: Any, form: Any) -> Aval:
    return Aval(form[0], np.dtype(form[1]))


@infers(kernels.picked)
def _picked(f: Function, x: Aval, at: Any, shape: Sizes) -> Aval:
    return Aval(shape, x.dtype)


@infers(host.windows)
def _windows(f: Function, x: Aval, size: Any, stride: Any, dilation: Any) -> Aval:
    shape: Any = x.shape  # Any: only the last two sizes are looked at
    counts = window_counts(shape, size, stride, dilation)
    return Aval((*x.shape[:-2], size[0] * size[1], *counts), x.dtype)


@infers(host.unwindows)
def _unwindows(f: Function, g: Aval | tuple[Aval, ...], shape: Sizes, *others: Any) -> Aval:
    return Aval(shape, (g[0] if isinstance(g, tuple) else g).dtype)


@infers(host.convolve)
def _convolve(f: Function, x: Aval, kernel: Aval, stride: Any, padding: Any, dilation: Any) -> Aval:
    sides: Any = zip(x.shape[-2:], padding, strict=True)  # Any: of images, whose number alone may be open
    size: Any = kernel.shape[2:]  # Any: as above
    counts = window_counts(tuple(n + 2 * p for n, p in sides), size, stride, dilation)
    return Aval((x.shape[0], kernel.shape[0], *counts), x.dtype)


@infers(host.convolve_kernel)
def _convolve_kernel(f: Function, x: Aval, g: Aval, size: Any, *others: Any) -> Aval:
    return Aval((g.shape[1], x.shape[1], *size), x.dtype)


@infers(dropout_mask)
def _dropout(f: Function, shape: Sizes, dtype: Any, rate: Any, seed: Any) -> Aval:
    return Aval(shape, np.dtype(dtype))


@infers(dropout_masks)
def _dropouts(f: Function, shape: Sizes, dtype: Any, rate: Any, seeds: Any) -> Aval:
    return Aval((_shape(seeds)[0], *shape), np.dtype(dtype))
