"""The derivative tests of HIPS autograd, run on this library: `python -m benchmarks.hips PATH`, its unpacked source.

Its files are run as they are. In place of the package `autograd` they find the one of this module: its `numpy` calls
operations of this library where an argument is an expression, and numpy elsewhere; its `check_grads` compares first and
second derivatives with differences of values that are computed here, and these values with numpy's.

Knows: how numpy's and autograd's names are written here.
Refuses to know: any formula of a derivative.
"""

from __future__ import annotations

import argparse
import builtins
import itertools
import os
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
import pytest

import wengert as wg
from wengert.graph.node import Expression

FILES: Final = (
    "binary_ops", "builtins", "complex", "dict", "direct", "fft", "graphs", "jacobian", "linalg", "list", "numpy",
    "scalar_ops", "systematic", "truediv", "tuple",
)  # fmt: skip # the others test autograd's own inside (spaces, wrappers, dispatch), and its derivatives of SciPy
EPS: Final = 1e-6
TOLERANCE: Final = 1e-5
CHECKING: Final[list[None]] = []  # an entry for each check that is going on
Value = Any  # Any: numbers, arrays, expressions, and tuples, lists and dicts of these


class MissingError(NotImplementedError):
    """A function, or a form of its arguments, that this library does not have."""


# -- structures of values ---------------------------------------------------------------------------------------


def lazy(x: Value) -> bool:
    """True of an expression; no guard for checkers, as numbers and arrays take the same way."""
    return isinstance(x, Expression)


def leaves(x: Value) -> Iterator[Value]:
    """The numbers, arrays and expressions in a structure, in order."""
    parts = (
        [x[key] for key in sorted(x)] if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else None
    )
    if parts is None:
        yield x
    else:
        for part in parts:
            yield from leaves(part)


def rebuilt(x: Value, new: Iterator[Value]) -> Value:
    """A structure like `x`, of other leaves."""
    if isinstance(x, dict):
        return dict(zip(sorted(x), [rebuilt(x[key], new) for key in sorted(x)], strict=True))
    if isinstance(x, (list, tuple)):
        return type(x)([rebuilt(part, new) for part in x])
    return next(new)


def mapped(f: Callable[[Value], Value], x: Value) -> Value:
    return rebuilt(x, map(f, [*leaves(x)]))


def symbolic(x: Value) -> bool:
    return any(lazy(leaf) for leaf in leaves(x))


def leaf(x: Value) -> Value:
    """An expression of a number or array."""
    if lazy(x):
        return x
    if np.iscomplexobj(x):
        raise MissingError("complex numbers")
    return wg.lift(float(x)) if np.ndim(x) == 0 else wg.literal(np.array(x, np.float64))


def data(x: Value) -> Value:
    """The values of expressions."""
    return mapped(lambda y: y.predict().run() if lazy(y) else y, x)


# -- derivatives ------------------------------------------------------------------------------------------------


def weighed(y: Value, directions: Sequence[Value]) -> Value:
    """The sum of all elements of a result, each times a number."""
    total: Value = 0.0
    for part, v in zip(leaves(y), directions, strict=True):
        product = part * v
        total = total + (wg.sum(product) if lazy(product) and product.shape else np_sum(product))
    return total


def np_sum(x: Value) -> Value:
    return x if lazy(x) else float(np.sum(x))


def drawn(like: Value) -> Value:
    shape = like.shape if lazy(like) else np.shape(like)
    return np.random.standard_normal(shape) if shape else float(np.random.standard_normal())


def deltas(loss: Value, of: Sequence[Value]) -> list[Value]:
    """The derivatives of a scalar as expressions; zeros of what it does not depend on."""
    if not lazy(loss):
        return [leaf(np.zeros(x.shape)) for x in of]
    asked = wg.gradients(loss, tuple(of))
    return list(asked.layers)


def close(a: Value, b: Value) -> bool:
    return bool(abs(a - b) < TOLERANCE or abs(a - b) / abs(a + b) < TOLERANCE)


def moved(x: Value, along: Sequence[Value], by: float) -> Value:
    steps = iter(along)
    return mapped(lambda y: y + by * next(steps), x)


@contextmanager
def checking() -> Generator[None]:
    """A time in which derivatives stay expressions, as somebody will differentiate them."""
    CHECKING.append(None)
    try:
        yield
    finally:
        CHECKING.pop()


def check(f: Callable[[Value], Value], x: Value, order: int) -> None:
    """Derivatives of one argument against differences of values, then the same of the derivatives."""
    known = data(f(x))
    with checking():
        differentiated(f, x, known, order)


def differentiated(f: Callable[[Value], Value], x: Value, known: Value, order: int) -> None:
    """The check, with derivatives within `f` as expressions."""
    inputs = mapped(leaf, x)
    y = f(inputs)
    for ours, theirs in zip(leaves(data(y)), leaves(known), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    of, along = [*leaves(inputs)], [drawn(part) for part in leaves(inputs)]
    directions = [drawn(part) for part in leaves(y)]
    found = sum(
        float(np.sum(data(d) * v)) for d, v in zip(deltas(weighed(y, directions), of), along, strict=True)
    )
    ahead, behind = (
        float(data(weighed(f(mapped(leaf, moved(x, along, by))), directions))) for by in (EPS / 2, -EPS / 2)
    )
    if not close(found, (ahead - behind) / EPS):
        raise AssertionError(f"derivative {found}, differences {(ahead - behind) / EPS}, of {x}")
    if order > 1:

        def derivative(z: Value) -> Value:
            parts = mapped(leaf, z)
            return rebuilt(z, iter(deltas(weighed(f(parts), directions), [*leaves(parts)])))

        check(derivative, x, order - 1)


def check_grads(f: Callable[..., Value], argnum: Value = None, modes: Value = None, order: int = 2) -> Value:
    """autograd's: all arguments of real numbers in turn, or those of `argnum`."""

    def checked(*arguments: Value, **options: Value) -> None:
        which = range(len(arguments)) if argnum is None else [argnum] if isinstance(argnum, int) else argnum

        def of(i: int, x: Value) -> Value:
            return f(*arguments[:i], x, *arguments[i + 1 :], **options)

        for i in which:
            check(partial(of, i), arguments[i], order)

    return checked


def grad(f: Callable[..., Value], argnum: Value = 0) -> Callable[..., Value]:
    def derivative(*arguments: Value, **options: Value) -> Value:
        which = [argnum] if isinstance(argnum, int) else [*argnum]
        own = [mapped(lambda x: x * 1.0 if lazy(x) else leaf(x), arguments[i]) for i in which]
        given = [*arguments]
        for i, x in zip(which, own, strict=True):
            given[i] = x
        with checking():
            y = f(*given, **options)
        if lazy(y) and y.shape:
            if any(n != 1 for n in y.shape):
                raise TypeError("grad: the result is no scalar")
            y = wg.sum(y)  # autograd takes an array of one element for a scalar
        every = iter(deltas(y, [part for x in own for part in leaves(x)]))
        found = tuple(rebuilt(x, every) for x in own)
        result = found[0] if isinstance(argnum, int) else found
        return result if symbolic(arguments) or CHECKING else data(result)

    return derivative


def elementwise_grad(f: Callable[..., Value], argnum: int = 0) -> Callable[..., Value]:
    return grad(
        lambda *arguments, **options: weighed(y := f(*arguments, **options), [1.0] * len([*leaves(y)])),
        argnum,
    )


def value_and_grad(f: Callable[..., Value], argnum: int = 0) -> Callable[..., Value]:
    return lambda *arguments: (f(*arguments), grad(f, argnum)(*arguments))


def jacobian(f: Callable[..., Value], argnum: int = 0) -> Callable[..., Value]:
    def matrix(*arguments: Value) -> Value:
        x = mapped(leaf, arguments[argnum])
        y = leaf(f(*arguments[:argnum], x, *arguments[argnum + 1 :]))
        rows = [deltas(wg.sum(y * row.reshape(y.shape)), [x])[0] for row in np.eye(int(np.prod(y.shape)))]
        found = wg.reshape(wg.stack([leaf(row) for row in rows]), (*y.shape, *x.shape))
        return found if symbolic(arguments) else data(found)

    return matrix


def deriv(f: Callable[[Value], Value]) -> Callable[[Value], Value]:
    def derivative(x: Value) -> Value:
        inputs = leaf(x)
        found = wg.jvp(f(inputs), inputs, np.ones(inputs.shape) if inputs.shape else 1.0)
        return found.layers[1] if symbolic(x) else found.run()[1]

    return derivative


def holomorphic_grad(f: Callable[[Value], Value]) -> Callable[[Value], Value]:
    raise MissingError("complex numbers")


def make_vjp(f: Callable[..., Value], x: Value) -> Value:
    inputs = mapped(leaf, x)
    y = f(inputs)
    return lambda v: rebuilt(x, iter(deltas(weighed(y, [*leaves(v)]), [*leaves(inputs)]))), y


# -- numpy's names ----------------------------------------------------------------------------------------------


def rank(x: Value) -> int:
    return len(x.shape) if lazy(x) else np.ndim(x)


def array(x: Value, dtype: Value = None) -> Value:
    """An array of nested lists with expressions in them."""
    if not isinstance(x, (list, tuple)):
        return x
    if not symbolic(x):
        return leaf(np.array(x))
    return wg.stack([arrayed(part) for part in x])


def arrayed(x: Value) -> Value:
    """An array, of shape () too, in the place of a list or a number."""
    y = array(x)
    return y if rank(y) else wg.sum(y * np.ones(1))


def dot(a: Value, b: Value) -> Value:
    if 0 in (rank(a), rank(b)):
        return wg.multiply(a, b)
    return wg.matmul(a, b) if rank(b) <= 2 else wg.tensordot(a, b, axes=([rank(a) - 1], [rank(b) - 2]))


def inner(a: Value, b: Value) -> Value:
    return (
        wg.multiply(a, b)
        if 0 in (rank(a), rank(b))
        else wg.tensordot(a, b, axes=([rank(a) - 1], [rank(b) - 1]))
    )


def tensordot(a: Value, b: Value, axes: Value = 2) -> Value:
    return wg.multiply(a, b) if 0 in (rank(a), rank(b)) else wg.tensordot(a, b, axes=axes)


def at_least(n: int, x: Value) -> Value:
    if rank(x) >= n:
        return x
    y = x * np.ones(1) if rank(x) == 0 else x
    return wg.reshape(y, (*(1,) * (n - len(y.shape)), *y.shape))


def joined(parts: Value, lowest: int, axis: int) -> Value:
    every = [at_least(lowest, part) for part in (wg.unstack(parts) if lazy(parts) else parts)]
    return wg.concat(every, axis=min(axis, rank(every[0]) - 1))


def swapped(x: Value, axis1: int, axis2: int) -> Value:
    axes = [*range(len(x.shape))]
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return wg.permute_dims(x, tuple(axes))


def transposed(x: Value, axes: Value = None) -> Value:
    n = len(x.shape)
    return wg.permute_dims(x, tuple(a % n for a in (range(n)[::-1] if axes is None else axes)))


def trace(x: Value, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    return wg.trace(wg.moveaxis(x, (axis1, axis2), (-2, -1)), offset=offset)


def diagonal(x: Value, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    return wg.diagonal(wg.moveaxis(x, (axis1, axis2), (-2, -1)), offset=offset)


def squeezed(x: Value, axis: Value = None) -> Value:
    return wg.squeeze(x, axis=tuple(i for i, n in enumerate(x.shape) if n == 1) if axis is None else axis)


def spread(of: Callable[..., Value]) -> Callable[..., Value]:
    return lambda x, axis=None, ddof=0, keepdims=False: of(
        array(x), axis=axis, correction=float(ddof), keepdims=keepdims
    )


def repeated(x: Value, repeats: int, axis: int | None = None) -> Value:
    return wg.repeat(x, repeats, axis=axis)


def summed(*arguments: Value) -> Value:
    """`einsum`, also in the form of lists of axes."""
    if isinstance(arguments[0], str):
        return wg.einsum(*arguments)
    named = [letters(axes) for axes in arguments[1::2]]
    result = letters(arguments[-1]) if len(arguments) % 2 else None
    text = ",".join(named) + ("" if result is None else f"->{result}")
    return wg.einsum(text, *arguments[0 : 2 * len(named) : 2])


def letters(axes: Sequence[Value]) -> str:
    return "".join("..." if axis is Ellipsis else chr(97 + axis) for axis in axes)


def cumulated(x: Value, axis: int | None = None) -> Value:
    return wg.cumulative_sum(wg.reshape(x, (-1,)) if axis is None else x, axis=0 if axis is None else axis)


def padded(x: Value, width: Value, mode: str = "constant") -> Value:
    pairs = np.broadcast_to(width, (rank(x), 2)).tolist()
    return wg.pad(x, tuple((before, after) for before, after in pairs))


def parts(x: Value, where: Value, axis: int = 0) -> Value:
    n = x.shape[axis]
    if isinstance(where, int):
        where = [i * (n // where) + min(i, n % where) for i in range(1, where)]
    every = itertools.pairwise([0, *where, n])
    return [x[(*(slice(None),) * axis, slice(begin, max(begin, end)))] for begin, end in every]


def rotated(x: Value, k: int = 1, axes: Value = (0, 1)) -> Value:
    for _ in range(k % 4):
        x = wg.flip(swapped(x, *axes), axis=axes[0])
    return x


SPELLED: Final[dict[str, Callable[..., Value]]] = {
    "absolute": wg.abs, "fabs": wg.abs, "amax": wg.max, "amin": wg.min, "arccos": wg.acos, "arccosh": wg.acosh,
    "arcsin": wg.asin, "arcsinh": wg.asinh, "arctan": wg.atan, "arctan2": wg.atan2, "arctanh": wg.atanh,
    "concatenate": lambda parts, axis=0: wg.concat(parts, axis=axis),
    "cumsum": cumulated, "mod": wg.remainder, "power": wg.pow, "true_divide": wg.divide,
    "dot": dot, "inner": inner, "tensordot": tensordot, "outer": lambda a, b: wg.linalg.outer(ravel(a), ravel(b)),
    "hstack": lambda parts: joined(parts, 1, 1), "vstack": lambda parts: joined(parts, 2, 0),
    "row_stack": lambda parts: joined(parts, 2, 0), "transpose": transposed, "swapaxes": swapped,
    "deg2rad": lambda x: x * (np.pi / 180.0), "radians": lambda x: x * (np.pi / 180.0),
    "rad2deg": lambda x: x * (180.0 / np.pi), "degrees": lambda x: x * (180.0 / np.pi),
    "append": lambda a, b, axis=None: appended(a, b, axis), "cross": lambda *pair, **axes: crossed(*pair, **axes),
    "gradient": lambda x, axis=None: gradient(x, axis),
    "partition": lambda x, kth: wg.take_along_axis(x, np.argpartition(data(x), kth), axis=-1),
    "nan_to_num": lambda x: wg.where(wg.isfinite(x), x, np.nan_to_num(data(x))), "real_if_close": lambda x: x,
    "conjugate": lambda x: x, "imag": lambda x: x * 0.0,
    "linspace": lambda a, b, n: a + (b - a) * np.linspace(0.0, 1.0, n),
    "rint": wg.round, "fix": wg.trunc, "array": array, "ravel": lambda x, order="C": ravel(x),
    "atleast_1d": lambda x: at_least(1, x), "atleast_2d": lambda x: at_least(2, x),
    "atleast_3d": lambda x: wg.expand_dims(at_least(2, x), axis=2) if rank(x) < 3 else x,
    "rollaxis": lambda x, axis, start=0: wg.moveaxis(x, axis, start - (axis < start)),
    "moveaxis": lambda a, source, destination: wg.moveaxis(a, source, destination),
    "fliplr": lambda x: wg.flip(x, axis=1), "flipud": lambda x: wg.flip(x, axis=0), "conj": lambda x: x,
    "real": lambda x: x, "trace": trace, "diagonal": diagonal, "squeeze": squeezed, "var": spread(wg.var),
    "std": spread(wg.std), "repeat": repeated, "tile": lambda A, reps: wg.tile(A, reps), "einsum": summed,
    "array_split": parts, "vsplit": parts, "hsplit": lambda x, where: parts(x, where, min(1, rank(x) - 1)),
    "dsplit": lambda x, where: parts(x, where, 2), "rot90": rotated, "fmax": wg.maximum, "fmin": wg.minimum,
    "column_stack": lambda xs: wg.concat(
        [wg.expand_dims(x, 1) if rank(x) < 2 else x for x in (wg.unstack(xs) if lazy(xs) else xs)], axis=1),
    "logaddexp2": lambda a, b: wg.logaddexp(a * np.log(2.0), b * np.log(2.0)) / np.log(2.0),
    "sinc": lambda x: wg.sin(x * np.pi) / (x * np.pi), "diag": lambda x, k=0: diag(x, k),
    "select": lambda conditions, choices, default=0: selected(conditions, choices, default),
    "pad": padded, "clip": lambda x, a_min, a_max: wg.clip(x, a_min, a_max),
    "mean": lambda x, **options: wg.mean(array(x), **options),
    "kron": lambda *both: wg.linalg.kron(*(at_least(max(map(rank, both)) or 1, x) for x in both)),
}  # fmt: skip


def crossed(
    a: Value, b: Value, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Value:
    of, to, back = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    first, second = wg.moveaxis(a, of, -1), wg.moveaxis(b, to, -1)
    return wg.moveaxis(wg.linalg.cross(first, second), -1, back)


def gradient(x: Value, axis: Value = None) -> Value:
    """Central differences, and those of neighbours at both ends."""
    if not isinstance(axis, int):
        every = [gradient(x, at) for at in (range(rank(x)) if axis is None else axis)]
        return every if len(every) > 1 else every[0]
    y = wg.moveaxis(x, axis, 0)
    inside = (y[2:] - y[:-2]) * 0.5
    return wg.moveaxis(wg.concat([y[1:2] - y[:1], inside, y[-1:] - y[-2:-1]], axis=0), 0, axis)


def appended(a: Value, b: Value, axis: int | None = None) -> Value:
    parts = [leaf(array(x)) for x in (a, b)]
    return wg.concat(parts if axis is not None else [ravel(x) for x in parts], axis=axis or 0)


# -- Fourier transforms: a complex array is a pair of real ones, here and in the answers of numpy -------------------


def numpy_pair(theirs: Callable[..., Value]) -> Callable[..., Value]:
    def call(x: Value, *arguments: Value, **options: Value) -> Value:
        y = theirs(x[0] + 1j * x[1] if isinstance(x, tuple) else x, *arguments, **options)
        return (y.real, y.imag) if np.iscomplexobj(y) else y

    return call


def pair(of: Callable[..., Value], *names: str, **defaults: Value) -> Callable[..., Value]:
    """A transform of this library, by numpy's positions; a pair is a plain tuple."""

    def call(x: Value, *arguments: Value, **options: Value) -> Value:
        given = {**defaults, **dict(zip(names, arguments, strict=False)), **options}
        y = of(x, **{name: value for name, value in given.items() if value is not None})
        return (y[0], y[1]) if isinstance(y, tuple) else y

    return call


FOURIER: Final[dict[str, Callable[..., Value]]] = {
    **{name: pair(getattr(wg.fft, name), "n", "axis", "norm") for name in ("fft", "ifft", "rfft", "irfft")},
    **{
        name: pair(getattr(wg.fft, name), "s", "axes", "norm")
        for name in ("fftn", "ifftn", "rfftn", "irfftn")
    },
    **{
        f"{name}2": pair(getattr(wg.fft, f"{name}n"), "s", "axes", "norm", axes=(-2, -1))
        for name in ("fft", "ifft", "rfft", "irfft")
    },
    **{name: pair(getattr(wg.fft, name), "axes") for name in ("fftshift", "ifftshift")},
}


def diag(x: Value, k: int) -> Value:
    if rank(x) == 2:
        return wg.diagonal(x, offset=k)
    n, m = x.shape[0], x.shape[0] + abs(k)
    columns = wg.pad(x, ((max(k, 0), max(-k, 0)),)) if n < m else x
    return columns * np.eye(m, k=k)


def selected(conditions: Value, choices: Value, default: Value) -> Value:
    result: Value = np.full(choices[0].shape, float(default))
    for condition, choice in zip(conditions[::-1], choices[::-1], strict=True):
        result = wg.where(condition, choice, result)
    return result


def ravel(x: Value) -> Value:
    return wg.reshape(x, (-1,)) if rank(x) else at_least(1, x)


def norm(x: Value, ord: Value = None, axis: Value = None) -> Value:
    if isinstance(axis, int) or (axis is None and (ord is None or rank(x) == 1)):
        return wg.linalg.vector_norm(x, ord=2 if ord is None else ord, axis=axis)
    return wg.linalg.matrix_norm(
        x if axis is None else wg.moveaxis(x, axis, (-2, -1)), ord="fro" if ord is None else ord
    )


def svd(x: Value, full_matrices: bool = True, compute_uv: bool = True) -> Value:
    if not compute_uv:
        return wg.linalg.svdvals(x)
    if full_matrices and x.shape[-1] != x.shape[-2]:
        raise MissingError("svd with full matrices")
    return tuple(wg.linalg.svd(x))


def mirrored(of: Callable[[Value], Value]) -> Callable[..., Value]:
    """A function of symmetric matrices, of which numpy reads one triangle."""

    def call(x: Value, UPLO: str = "L") -> Value:
        if UPLO != "L":
            raise MissingError("eigh of an upper triangle")  # its vectors have other signs
        return of(wg.tril(x) + wg.matrix_transpose(wg.tril(x, k=-1)))

    return call


LINALG: Final[dict[str, Callable[..., Value]]] = {
    "norm": lambda x, ord=None, axis=None: norm(array(x), ord, axis),
    "svd": svd,
    "eigh": mirrored(lambda x: tuple(wg.linalg.eigh(x))),
    "eigvalsh": mirrored(wg.linalg.eigvalsh),
}


class Namespace(ModuleType):
    """numpy, where nothing is an expression; else this library, by the name that it has here."""

    def __init__(self, name: str, of: Any, ours: Any, spelled: dict[str, Any]) -> None:  # Any: modules
        super().__init__(name)
        self.of, self.ours, self.spelled = of, ours, spelled
        self.__path__ = []

    def __getattr__(self, name: str) -> Value:
        theirs = getattr(self.of, name)
        if not callable(theirs) or isinstance(theirs, type):
            return theirs
        mine = self.spelled.get(name) or getattr(self.ours, name, None)

        def call(*arguments: Value, **options: Value) -> Value:
            if not symbolic([arguments, options]):
                return theirs(*arguments, **options)
            if mine is None:
                raise MissingError(name)
            return mine(*arguments, **options)

        call.__name__ = name
        return call


def installed() -> None:
    """`import autograd` finds this module's."""
    top = ModuleType("autograd")
    for f in (grad, elementwise_grad, value_and_grad, jacobian, make_vjp, deriv, holomorphic_grad):
        setattr(top, f.__name__, f)
    top.dict, top.list, top.tuple = dict, list, tuple  # type: ignore[attr-defined] # of a module made here
    top.isinstance = isinstance  # type: ignore[attr-defined] # as above
    numpy = Namespace("autograd.numpy", np, wg, dict(SPELLED))
    util, builtin = ModuleType("autograd.test_util"), ModuleType("autograd.builtins")
    util.check_grads = check_grads  # type: ignore[attr-defined] # as above
    util.combo_check = combo_check  # type: ignore[attr-defined] # as above
    for name in ("dict", "list", "tuple", "isinstance"):
        setattr(builtin, name, getattr(builtins, name))
    linalg = Namespace("autograd.numpy.linalg", np.linalg, wg.linalg, dict(LINALG))
    theirs = ModuleType("numpy.fft")
    theirs.__dict__.update({name: numpy_pair(getattr(np.fft, name)) for name in FOURIER})
    fft = Namespace("autograd.numpy.fft", theirs, wg.fft, dict(FOURIER))
    numpy.__dict__.update(linalg=linalg, fft=fft, random=np.random)
    top.numpy = numpy  # type: ignore[attr-defined] # as above
    every = {"": top, ".numpy": numpy, ".numpy.linalg": linalg, ".numpy.fft": fft, ".numpy.random": np.random}
    sys.modules.update({f"autograd{name}": module for name, module in every.items()})
    sys.modules.update({"autograd.test_util": util, "autograd.builtins": builtin})


def combo_check(f: Callable[..., Value], argnum: Value, **settings: Value) -> Callable[..., None]:
    """autograd's: all combinations of the arguments that are listed."""

    def checked(*lists: Sequence[Value], **options: Sequence[Value]) -> None:
        every: list[tuple[Value, ...]] = [()]
        for values in lists:
            every = [(*before, value) for before in every for value in values]
        chosen: list[dict[str, Value]] = [{}]
        for key, values in options.items():
            chosen = [{**before, key: value} for before in chosen for value in values]
        for arguments in every:
            for keywords in chosen:
                check_grads(f, argnum, **settings)(*arguments, **keywords)

    return checked


class Told:
    """A plugin of pytest that counts what became of each test, and why."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.missing: Counter[str] = Counter()
        self.failed: list[tuple[str, str]] = []

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if call.when != "call":
            return
        error = call.excinfo.value if call.excinfo is not None else None
        if error is None:
            self.kinds["passed"] += 1
        elif "complex" in str(error):
            self.kinds["complex"] += 1
        elif isinstance(error, MissingError):
            self.kinds["missing"] += 1
            self.missing[str(error)] += 1
        elif isinstance(error, AssertionError):
            self.kinds["wrong"] += 1
            self.failed.append((item.nodeid, str(error)[:300]))
        else:
            self.kinds["refused"] += 1
            self.failed.append((item.nodeid, f"{type(error).__name__}: {str(error)[:300]}"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the derivative tests of HIPS autograd on this library.")
    parser.add_argument("path", type=Path, help="folder of autograd's unpacked source, which has `tests`")
    parser.add_argument("-k", default="", help="only tests with this in their names")
    given = parser.parse_args()
    installed()
    sys.path.insert(0, str(given.path / "tests"))
    told = Told()
    files = [str(given.path / "tests" / f"test_{name}.py") for name in FILES]
    quiet = ["-q", "--tb=no", "-rN", "-W", "ignore", "--continue-on-collection-errors", "-c", os.devnull]
    without = [f"-pno:{plugin}" for plugin in ("randomly", "xdist", "cacheprovider")]
    pytest.main([*quiet, *without, f"--rootdir={given.path}", "-k", given.k, *files], plugins=[told])
    print(", ".join(f"{count} {kind}" for kind, count in sorted(told.kinds.items())))
    print("missing:", ", ".join(f"{name} {count}" for name, count in told.missing.most_common()))
    for name, why in told.failed:
        print(f"{name.rpartition('/')[2]}\n    {why}")


if __name__ == "__main__":
    main()
