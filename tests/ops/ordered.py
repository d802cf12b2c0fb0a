"""Examples of running sums and products, of order, and of arrays made of sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import wengert as wg

from . import draw as d
from .example import Example

NUMBERS = d.numbers(-3, 3)
GAP = d.numbers(-3, 3, gap=0.125)
EVEN = st.integers(-12, 12).map(lambda i: i / 4)


@st.composite
def running(draw: st.DrawFn, name: str) -> Example:
    """Zeros among the factors too, for which autograd has no derivative: the products are written out."""
    shape = draw(d.shapes(min_dims=1))
    at, initial = draw(d.axis(len(shape))), draw(st.booleans())
    call, first = getattr(wg, name), float(name == "cumulative_prod")
    place = at % len(shape)
    begin = np.full((*shape[:place], int(initial), *shape[place + 1 :]), first)

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        if name == "cumulative_sum":
            return xp.concatenate([begin, xp.cumsum(x, axis=place)], axis=place)
        parts, product = [begin], np.ones((*shape[:place], 1, *shape[place + 1 :]))
        for i in range(shape[place]):
            product = product * x[(*(slice(None),) * place, slice(i, i + 1))]
            parts.append(product)
        return xp.concatenate(parts, axis=place)

    x = draw(d.arrays(shape, NUMBERS))
    return Example(lambda x: call(x, axis=at, include_initial=initial), plain, (x,))


@st.composite
def diff(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes(min_dims=1))
    at, n = draw(d.axis(len(shape))), draw(st.integers(0, 3))
    place = at % len(shape)
    sides = tuple(draw(d.arrays((*shape[:place], 1, *shape[place + 1 :]), NUMBERS)) for _ in range(2))
    both = draw(st.booleans())

    def plain(xp: Any, x: Any, *more: Any) -> Any:  # Any: values of numpy or of autograd
        made = xp.concatenate([more[0], x, more[1]], axis=place) if more else x * 1.0
        for size in range(made.shape[place], max(made.shape[place] - n, 0), -1):
            before, behind = ((*(slice(None),) * place, slice(*b)) for b in ((0, size - 1), (1, size)))
            made = made[behind] - made[before]
        return made

    def call(x: Any, *more: Any) -> Any:  # Any: expressions
        return wg.diff(x, axis=at, n=n, prepend=more[0], append=more[1]) if more else wg.diff(x, axis=at, n=n)

    x = draw(d.arrays(shape, NUMBERS))
    return Example(call, plain, (x, *sides) if both else (x,))


@st.composite
def sort(draw: st.DrawFn, places: bool) -> Example:
    """No two elements are equal where they are differentiated."""
    shape = draw(d.shapes(min_dims=1))
    at, down = draw(d.axis(len(shape))), draw(st.booleans())
    x = draw(d.arrays(shape, EVEN) if places else d.distinct(shape))
    order = np.argsort(-x if down else x, at, kind="stable")
    if places:
        return Example(lambda x: wg.argsort(x, axis=at, descending=down), lambda xp, x: order, (x,))
    key = list(np.ix_(*map(np.arange, shape)))
    key[at] = order
    return Example(lambda x: wg.sort(x, axis=at, descending=down), lambda xp, x: x[tuple(key)], (x,))


@st.composite
def argmin(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes(min_dims=1, min_side=1))
    at = draw(st.none() | d.axis(len(shape)))
    x, kept = draw(d.arrays(shape, EVEN)), draw(st.booleans())
    return Example(
        lambda x: wg.argmin(x, axis=at, keepdims=kept), lambda xp, x: np.argmin(x, at, keepdims=kept), (x,)
    )


@st.composite
def searchsorted(draw: st.DrawFn) -> Example:
    line = np.sort(draw(d.arrays((draw(st.integers(0, 4)),), EVEN)))
    side: Any = draw(st.sampled_from(("left", "right")))  # Any: one of two literals
    x = draw(d.shapes().flatmap(lambda shape: d.arrays(shape, EVEN)))
    return Example(
        lambda line, x: wg.searchsorted(line, x, side=side),
        lambda xp, line, x: np.searchsorted(line, x, side),
        (line, x),
    )


@st.composite
def count_nonzero(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes())
    axis, kept = draw(st.none() | d.axes(len(shape))), draw(st.booleans())
    x = draw(d.arrays(shape, st.sampled_from((0.0, -0.0, 1.0, -2.5))))
    return Example(
        lambda x: wg.count_nonzero(x, axis=axis, keepdims=kept),
        lambda xp, x: np.count_nonzero(x, axis, keepdims=kept),
        (x,),
    )


@st.composite
def nonzero(draw: st.DrawFn) -> Example:
    """Places of a mask or of numbers, of which as many are not 0 whatever the operand is."""
    shape = draw(d.shapes(min_dims=1))
    x = draw(d.arrays(shape, NUMBERS))
    kept = draw(d.arrays(shape, st.sampled_from((0.0, 1.0))))
    axis = draw(st.integers(0, len(shape) - 1))

    def call(x: Any) -> Any:  # Any: an expression
        found = wg.where(kept > 0.0, x * 0.0 + 1.0, 0.0)
        return wg.nonzero(wg.greater(found, 0.5) if axis % 2 else found, size=int(kept.sum()))[axis]

    return Example(call, lambda xp, x: np.nonzero(kept)[axis], (x,))


@st.composite
def one_hot(draw: st.DrawFn) -> Example:
    labels = np.asarray(draw(d.indices(3)) % 3)
    return Example(lambda: wg.one_hot(labels, 3), lambda xp: np.eye(3, dtype=np.float32)[labels], ())


@st.composite
def made(draw: st.DrawFn, name: str) -> Example:
    """An array of sizes and numbers."""
    shape, n, k = draw(d.shapes()), draw(st.integers(0, 4)), draw(st.integers(-2, 2))
    dtype = draw(st.sampled_from((np.float32, np.float64)))
    start, stop, step = draw(NUMBERS), draw(NUMBERS), draw(GAP)
    end = draw(st.booleans())
    cases: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {  # Any: arguments
        "zeros": ((shape,), {}),
        "ones": ((shape,), {}),
        "full": ((shape, start), {}),
        "eye": ((n, draw(st.none() | st.integers(0, 3))), {"k": k}),
        "arange": (draw(st.sampled_from([(float(n),), (start, stop), (start, stop, step)])), {}),
        "linspace": ((start, stop, n), {"endpoint": end}),
    }
    args, more = cases[name]
    call, plain = getattr(wg, name), getattr(np, name)
    return Example(lambda: call(*args, dtype=dtype, **more), lambda xp: plain(*args, dtype=dtype, **more), ())


@st.composite
def full_like(draw: st.DrawFn) -> Example:
    value, x = draw(NUMBERS), draw(d.shapes().flatmap(lambda shape: d.arrays(shape, NUMBERS)))
    return Example(lambda x: wg.full_like(x, value), lambda xp, x: np.full_like(x, value), (x,))


@st.composite
def grown(draw: st.DrawFn, name: str) -> Example:
    """Repetitions, grids and common shapes; of several results one."""
    shape = draw(d.shapes(max_dims=2))
    x, y = draw(d.arrays(shape, NUMBERS)), draw(d.arrays((draw(st.integers(0, 3)),), NUMBERS))
    count, at = draw(st.integers(0, 3)), draw(st.none() | d.axis(len(shape)) if shape else st.none())
    counts = draw(st.lists(st.integers(0, 2), max_size=3).map(tuple))
    if name == "repeat":
        slices = np.repeat(np.arange(x.size).reshape(shape), count, axis=at)
        return Example(
            lambda x: wg.repeat(x, count, axis=at), lambda xp, x: xp.reshape(x, (-1,))[slices], (x,)
        )
    if name == "tile":
        copies = np.tile(np.arange(x.size).reshape(shape), counts)
        return Example(lambda x: wg.tile(x, counts), lambda xp, x: xp.reshape(x, (-1,))[copies], (x,))
    if name == "meshgrid":
        z, how = draw(d.arrays((draw(st.integers(0, 3)),), NUMBERS)), draw(st.sampled_from(("xy", "ij")))
        how_: Any = how  # Any: one of two literals
        first, second = np.meshgrid(np.arange(y.size), np.arange(z.size), indexing=how_)

        def grids(y: Any, z: Any) -> Any:  # Any: expressions
            a, b = wg.meshgrid(y, z, indexing=how_)
            return wg.add(a, wg.multiply(b, 2.0))

        return Example(grids, lambda xp, y, z: y[first] + z[second] * 2.0, (y, z))
    a, b = (draw(d.arrays(s, NUMBERS)) for s in draw(d.broadcast_shapes()))

    def both(a: Any, b: Any) -> Any:  # Any: expressions
        first, second = wg.broadcast_arrays(a, b)
        return wg.add(first, wg.multiply(second, 2.0))

    return Example(both, lambda xp, a, b: a + b * 2.0, (a, b))


@st.composite
def matrices(draw: st.DrawFn, name: str) -> Example:
    """Triangles and diagonals; the last two axes are those of a matrix."""
    shape = draw(d.shapes(min_dims=2))
    x, k = draw(d.arrays(shape, NUMBERS)), draw(st.integers(-2, 2))
    if name == "matrix_transpose":
        return Example(wg.matrix_transpose, lambda xp, x: xp.swapaxes(x, -1, -2), (x,))
    if name in ("tril", "triu"):
        ones = getattr(np, name)(np.ones(shape), k)
        return Example(lambda x: getattr(wg, name)(x, k=k), lambda xp, x: x * ones, (x,))
    rows, columns = np.nonzero(np.eye(shape[-2], shape[-1], k))
    if name == "trace":
        return Example(
            lambda x: wg.trace(x, offset=k), lambda xp, x: xp.sum(x[..., rows, columns], axis=-1), (x,)
        )
    return Example(lambda x: wg.diagonal(x, offset=k), lambda xp, x: x[..., rows, columns], (x,))


@st.composite
def moveaxis(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes(min_dims=1))
    source = draw(d.axes(len(shape)).filter(len))
    to = tuple(draw(st.permutations(range(len(shape)))))[: len(source)]
    places = dict(zip(to, (a % len(shape) for a in source), strict=True))
    rest = iter(a for a in range(len(shape)) if a not in places.values())
    permutation = tuple(places[i] if i in places else next(rest) for i in range(len(shape)))
    x = draw(d.arrays(shape, NUMBERS))
    return Example(lambda x: wg.moveaxis(x, source, to), lambda xp, x: xp.transpose(x, permutation), (x,))


@st.composite
def unstack(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes(min_dims=1, min_side=1))
    at = draw(d.axis(len(shape)))
    i = draw(st.integers(0, shape[at] - 1))
    key = (*(slice(None),) * (at % len(shape)), i)
    x = draw(d.arrays(shape, NUMBERS))
    return Example(lambda x: wg.unstack(x, axis=at)[i], lambda xp, x: x[key], (x,))
