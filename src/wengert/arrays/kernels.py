"""Properties of numpy's functions for compiled plans: writing into a buffer, and into which.

Knows: which functions take `out`, which work element by element (so that the result may lie where an operand
lay), which results share no memory with an operand, shorter calls of some for known shapes and element types, and
which have a formula in C.
Refuses to know: graphs, plans, and who reuses what.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from wengert.arrays import contraction, convolution, host, reductions, thin
from wengert.arrays.changes import Change
from wengert.arrays.erf import erf_in_c
from wengert.arrays.namespace import Function, Shape, Value
from wengert.arrays.ownership import new_array as new_buffer
from wengert.arrays.ownership import unused_array
from wengert.arrays.scatter import places
from wengert.arrays.segments import sum_rows

__all__ = [
    "BY_PROCESSOR",
    "EFFECTS",
    "FORMULAS",
    "FOR_ANY_ROWS",
    "HELPERS",
    "KERNELS",
    "VIEWS",
    "KernelTraits",
    "axes_beside",
    "c_type",
    "constant_beside",
    "formula_of",
    "is_array_beside",
    "kernel_of",
    "literal_of",
    "new_buffer",
    "numbers_beside",
    "put_into",
    "subtract_into",
    "takes_strides",
    "transposed_copy",
    "unused_array",
]


class KernelTraits(NamedTuple):
    """Properties of a function that is called by a plan; the default is true of any function."""

    into: Function | None = None  # the same, with the buffer for the result as `out`
    elementwise: bool = False  # the buffer may be an operand's
    fresh: bool = False  # the result shares no memory with an operand


def _copied_into(x: Value, shape: object, /, *, out: Value) -> Value:
    np.copyto(out, x)
    return out


def _converted_into(x: Value, dtype: Value, /, *, out: Value) -> Value:
    np.copyto(out, x, casting="same_kind")
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


def in_each(at: Value, x: Value, /) -> Value:
    """Places in a value as those in every row of `x`."""
    size = x.size // len(x)
    return (np.arange(0, x.size, size)[:, None] + at).reshape(-1)


def transposed(x: Value, /) -> Value:
    """The view `x.T`."""
    return x.T


def transposed_copy(x: Value, /) -> Value:
    """A copy of `x.T` in C order."""
    return np.ascontiguousarray(x.T)


def _transposed_into(x: Value, /, *, out: Value) -> Value:
    np.copyto(out, x.T)
    return out


def gathered(dtype: Value, *xs: Value) -> Value:
    """The values of all branches in one array; numbers become elements of this type."""
    return np.array(xs, dtype)


def branch(x: Value, at: int, /) -> Value:
    """One branch's part of an array of all branches."""
    return x[at]


_UFUNCS: Final[tuple[Function, ...]] = (
    *(np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.absolute, np.sqrt),
    *(np.square, np.exp, np.log, np.log1p, np.expm1, np.sin, np.cos, np.tanh),
    *(np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal, np.reciprocal),
    *(np.logical_and, np.logical_or, np.logical_not, np.maximum, np.minimum, np.fmax),
    *(np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.arcsinh, np.arccosh, np.arctanh),
    *(np.log2, np.log10, np.exp2, np.floor, np.ceil, np.rint, np.trunc),
    *(np.arctan2, np.hypot, np.logaddexp, np.copysign, np.remainder, np.floor_divide),
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
    *(np.where, host.add_at, ones_at, picked, places, host.take, host.take_along_axis),
    *(host.inv, host.cholesky, host.det, host.det_sign, host.logabsdet, host.solve),
    *(host.segment_max, host.sparse_product, sum_rows),
    *(host.argmax, host.top_k, host.all, host.any, host.argsort, host.searchsorted, host.nonzero),
    *(host.zeros, host.ones, host.full, host.zeros_like, host.stack),
)
# what chooses by the shapes of a call
FOR_ANY_ROWS: Final[Mapping[Function, Function]] = {np.dot: thin.product}
KERNELS: Final[Mapping[Function, KernelTraits]] = {
    **{f: KernelTraits(f, elementwise=True, fresh=True) for f in _UFUNCS},
    **{f: KernelTraits(into, elementwise=True, fresh=True) for f, into in _OPERATORS.items()},
    **{f: KernelTraits(fresh=True) for f in _NEW},
    # 0.14 us less: it asks no operand for `__array_function__`
    np.dot: KernelTraits(np.ndarray.dot, fresh=True),
    np.sign: KernelTraits(np.sign, fresh=True),  # over its operand it takes six times as long
    thin.dot: KernelTraits(thin.dot, fresh=True),
    thin.product: KernelTraits(thin.product, fresh=True),
    np.matmul: KernelTraits(np.matmul, fresh=True),
    contraction.in_order: KernelTraits(contraction.in_order, fresh=True),
    np.vecdot: KernelTraits(np.vecdot, fresh=True),
    gathered: KernelTraits(fresh=True),
    in_each: KernelTraits(fresh=True),
    **{
        f: KernelTraits(f, fresh=True)
        for f in (reductions.add_reduce, reductions.max_reduce, reductions.min_reduce)
    },
    host.broadcast_to: KernelTraits(_copied_into, fresh=True),
    transposed_copy: KernelTraits(_transposed_into, fresh=True),
    host.astype: KernelTraits(_converted_into, fresh=True),
    host.windows: KernelTraits(host.windows_into, fresh=True),
    host.unwindows: KernelTraits(host.unwindows_into, fresh=True),
    convolution.convolve: KernelTraits(convolution.convolve_into, fresh=True),
    convolution.convolve_kernel: KernelTraits(convolution.convolve_kernel_into, fresh=True),
    joined: KernelTraits(_joined_into, fresh=True),
    minus_one_at: KernelTraits(_minus_one_into, elementwise=True, fresh=True),
}
_UNKNOWN: Final = KernelTraits()

_EXACT: Final = 2**24  # integers that every floating type of ours has

# Another look at an array in C order, and whether that is in C order, too.
VIEWS: Final[Mapping[Function, bool]] = {
    host.reshape: True,
    host.squeeze: True,
    host.expand_dims: True,
    host.permute_dims: False,
    host.swap_last: False,
    transposed: False,
}


def constant_beside(x: Value, dtype: Value, into: Function) -> Value:
    """The number `x`, which stands beside an array of `dtype` in each call of a ufunc, as numpy would make it there.

    An array of shape () takes a ufunc 0.2 us less than a number, which becomes such an array in every call.
    """
    if not is_array_beside(dtype, into):
        return x
    if type(x) is float or (type(x) is int and abs(x) <= _EXACT):
        with np.errstate(all="ignore"):
            return np.asarray(x, dtype)
    return np.asarray(x) if isinstance(x, np.generic) else x


def is_array_beside(dtype: Value, into: Function) -> bool:
    """True if a float beside an array of `dtype` in a call is what an array of shape () with that dtype would be."""
    return isinstance(into, np.ufunc) and dtype.kind == "f"


def numbers_beside(count: int, dtype: Value) -> tuple[Value, tuple[Value, ...]]:
    """An array for so many numbers, and each of its elements as an array of shape ().

    Numbers are put into all of them at once, in 0.03 us each.
    >>> numbers, each = numbers_beside(2, np.float32)
    >>> numbers[...] = 0.5, 0.25
    >>> each
    (array(0.5, dtype=float32), array(0.25, dtype=float32))
    """
    numbers = new_buffer((count,), dtype)
    return numbers, tuple(numbers[i, ...] for i in range(count))


def axes_beside(axes: int, shape: Sequence[object], into: Function) -> tuple[None, ...]:
    """The key that gives an operand of so many axes those that it lacks beside one of `shape`, where all are of size 1.

    A ufunc takes 0.25 us for two small arrays of one shape and 0.65 us where it has to add an axis; the view takes 0.1.
    Only of elements: of a product of matrices a vector is no row.
    >>> axes_beside(1, (1, 4), np.add), axes_beside(1, (2, 4), np.add), axes_beside(1, (1, 4), np.matmul)
    ((None,), (), ())
    """
    lacking = len(shape) - axes
    of_elements = isinstance(into, np.ufunc) and into.signature is None
    alike = lacking > 0 < axes and of_elements and all(n == 1 for n in shape[:lacking])
    return (None,) * lacking if alike else ()


def subtract_into(w: Value, d: Value, /) -> list[Change]:
    """The change that makes `w -= d` in place."""
    return [(np.subtract, w, d, w)]


def put_into(w: Value, x: Value, /) -> list[Change]:
    """The change that gives `w` the elements of `x`."""
    return [(operator.setitem, w, ..., x)]


# functions that give the changes of their first argument
EFFECTS: Final[frozenset[Function]] = frozenset(
    {host.fused_update, host.scaled_update, host.subtract_at, put_into, subtract_into}
)


def kernel_of(function: Function) -> KernelTraits:
    """The properties of a function."""
    return KERNELS.get(function, _UNKNOWN)


def takes_strides(function: Function) -> bool:
    """Tell whether the result may be written to every second element, say, and not only to an array in one piece."""
    return isinstance(kernel_of(function).into, np.ufunc)


_EXP_P: Final = (
    *("5.082762527590693718096e-04f", "6.757896990527504603057e-03f", "5.114512081637298353406e-02f"),
    *("2.473615434895520810817e-01f", "7.257664613233124478488e-01f", "1.0f"),
)
_EXP_Q: Final = ("2.159509375685829852307e-02f", "-2.742335390411667452936e-01f", "1.0f")
_MINUS_LN2: Final = ("-6.93145752e-1f", "-1.42860677e-6f")  # a sum of two
_EXP_MOST, _EXP_LEAST = "88.72283935546875f", "-103.97208404541015625f"  # beyond, the result is infinity or 0


def _exp_in_c(name: str) -> str:
    """The text of exp of float32, with the bits of numpy's vector loop for x86-64.

    With k = round(x / ln 2) and r = x - k ln 2, in two products with parts of ln 2, exp(x) = 2^k p(r)/q(r), where p and
    q are minimax polynomials on |r| ≤ ln 2 / 2.

    Source: W. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980; coefficients as in numpy,
    `simd_exp_FLOAT` of `loops_exponent_log.dispatch.c.src` (BSD-3-Clause).
    """
    return "\n".join(
        [
            f"static inline float {name}(float x) {{",
            "  const float k = (x * 0x1.715476p+0f + 0x1.8p+23f) - 0x1.8p+23f;",  # rounds to an integer
            f"  const float r = fmaf(k, {_MINUS_LN2[1]}, fmaf(k, {_MINUS_LN2[0]}, x));",
            f"  const float y = ({_horner(_EXP_P)}) / ({_horner(_EXP_Q)});",
            "  const int a = (int)k / 2, b = (int)k - a;",  # 2^k alone may be too great, or too small
            "  const union { unsigned bits; float of; } p = {(unsigned)(a + 127) << 23},",
            "    q = {(unsigned)(b + 127) << 23};",
            f"  const float z = x > {_EXP_MOST} ? INFINITY : x < {_EXP_LEAST} ? 0.0f : y * p.of * q.of;",
            "  return x != x ? x : z;",
            "}",
            "",
        ]
    )


def _horner(coefficients: tuple[str, ...]) -> str:
    text = coefficients[0]
    for coefficient in coefficients[1:]:
        text = f"fmaf(r, {text}, {coefficient})"
    return text


_ERF, _EXP = "erf32", "exp32"
_C_TYPES: Final[Mapping[str, str]] = {"float32": "float", "float64": "double", "bool": "unsigned char"}

# Expressions of C that give numpy's bits by the rules of IEEE 754 alone, NaN, infinities and signs of zero included:
# none rounds in another order. {0} to {2} are operands, {t} is the type of the result, {f} ends names for floats.
FORMULAS: Final[Mapping[Function, str]] = {
    np.add: "{0} + {1}",
    np.subtract: "{0} - {1}",
    np.multiply: "{0} * {1}",
    np.true_divide: "{0} / {1}",
    np.negative: "-{0}",
    np.positive: "{0}",
    np.absolute: "fabs{f}({0})",
    np.sqrt: "sqrt{f}({0})",
    np.square: "{0} * {0}",
    np.reciprocal: "({t})1 / {0}",
    np.sign: "{0} != {0} ? {0} : ({t})(({0} > 0) - ({0} < 0))",
    np.maximum: "({0} > {1}) | ({0} != {0}) ? {0} : {1}",
    np.minimum: "({0} < {1}) | ({0} != {0}) ? {0} : {1}",
    np.greater: "{0} > {1}",
    np.greater_equal: "{0} >= {1}",
    np.less: "{0} < {1}",
    np.less_equal: "{0} <= {1}",
    np.equal: "{0} == {1}",
    np.not_equal: "{0} != {1}",
    np.where: "{0} ? {1} : {2}",
    host.astype: "({t}){0}",
    host.broadcast_to: "{0}",
    host.nonzero_safe: "({1} - {1} == 0) | ({0} != 0) ? {1} : 0",
}
_SINGLE_FORMULAS: Final[Mapping[Function, str]] = {  # for float32 alone
    host.erf: f"{_ERF}({{0}})",
    np.exp: f"{_EXP}({{0}})",
}
BY_PROCESSOR: Final[frozenset[Function]] = frozenset({np.exp})  # numpy has other loops for other processors
HELPERS: Final[Mapping[str, str]] = {  # functions of C that formulas call
    _ERF: erf_in_c(_ERF),
    _EXP: _exp_in_c(_EXP),
}


def formula_of(function: Function, dtype: Value) -> str | None:
    """The formula of an array function whose result has this element type; None where C would give other bits.

    >>> import operator
    >>> formula_of(operator.add, np.dtype(np.float64)), formula_of(np.exp, np.dtype(np.float64))
    ('{0} + {1}', None)
    """
    found = FORMULAS.get(kernel_of(function).into or function) or FORMULAS.get(function)
    return _SINGLE_FORMULAS.get(function) if found is None and dtype == np.float32 else found


def c_type(dtype: Value) -> str | None:
    """The type of elements in C; None of those that no formula takes.

    >>> c_type(np.dtype(np.float32)), c_type(np.dtype(np.int64))
    ('float', None)
    """
    return _C_TYPES.get(getattr(dtype, "name", ""))


def literal_of(x: Value, dtype: Value) -> str | None:
    """A number beside an array of `dtype`, exactly as numpy would make it there; None where it is no finite number.

    >>> literal_of(0.1, np.dtype(np.float32)), literal_of(2, np.dtype(np.float64))
    ('0x1.99999a0000000p-4f', '0x1.0000000000000p+1')
    """
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, (int, float, np.floating)):
        return None
    with np.errstate(all="ignore"):
        number = float(dtype.type(x))
    if not np.isfinite(number):
        return None
    return f"{number.hex()}{'f' * (dtype == np.float32)}"
