"""Hypothesis strategies of operands: every memory layout, sizes 0 and 1, ranks 0 to 3, broadcast pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

Array = np.ndarray[Any, np.dtype[Any]]  # Any: shapes and element types are what varies
Shape = tuple[int, ...]
LAYOUTS = ("C", "F", "negative", "strided", "read-only")


def laid_out(x: Array, layout: str) -> Array:
    """The same elements in another layout."""
    if layout == "F" and x.ndim:  # numpy makes one axis of none
        return np.asfortranarray(x)
    if layout == "negative" and x.ndim:
        flip = (slice(None, None, -1),) * x.ndim
        return np.ascontiguousarray(x[flip])[flip]
    if layout == "strided" and x.ndim:
        wide = np.zeros([2 * n for n in x.shape], x.dtype)
        wide[(slice(None, None, 2),) * x.ndim] = x
        return wide[(slice(None, None, 2),) * x.ndim]
    if layout == "read-only":
        x = x.copy()
        x.flags.writeable = False
    return x


def shapes(min_dims: int = 0, max_dims: int = 3, min_side: int = 0) -> st.SearchStrategy[Shape]:
    return npst.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=3)


def numbers(low: float, high: float, gap: float = 0.0) -> st.SearchStrategy[float]:
    """Multiples of 1/64 between `low` and `high`, farther than `gap` from 0."""
    found = st.integers(int(low * 64), int(high * 64)).map(lambda i: i / 64)
    return found.filter(lambda x: abs(x) > gap) if gap else found


@st.composite
def arrays(draw: st.DrawFn, shape: Shape, elements: st.SearchStrategy[float]) -> Array:
    x: Array = draw(npst.arrays(np.float64, shape, elements=elements, fill=st.nothing()))
    return laid_out(x, draw(st.sampled_from(LAYOUTS)))


@st.composite
def distinct(draw: st.DrawFn, shape: Shape) -> Array:
    """An array without two equal elements, nor two nearer than 1/8."""
    size = int(np.prod(shape))
    order = draw(st.permutations(range(size)))
    x = np.asarray((np.array(order, np.float64).reshape(shape) - size / 2) / 8)
    return laid_out(x, draw(st.sampled_from(LAYOUTS)))


@st.composite
def broadcast_shapes(draw: st.DrawFn) -> tuple[Shape, Shape]:
    """Two shapes that broadcast: of one rank in any way, of two ranks to one that an operand has."""
    full = draw(shapes())
    shrunk = tuple(draw(st.sampled_from((n, 1))) for n in full)
    other = full
    if draw(st.booleans()):
        shrunk = shrunk[draw(st.integers(0, len(full))) :]
    else:
        other = tuple(
            n if m != n else draw(st.sampled_from((n, 1))) for n, m in zip(full, shrunk, strict=True)
        )
    return (shrunk, other) if draw(st.booleans()) else (other, shrunk)


@st.composite
def axes(draw: st.DrawFn, rank: int) -> tuple[int, ...]:
    """Some axes of an array, counted from either end."""
    chosen = draw(st.sets(st.integers(0, rank - 1), max_size=rank)) if rank else set()
    return tuple(a - rank if draw(st.booleans()) else a for a in sorted(chosen))


def axis(rank: int) -> st.SearchStrategy[int]:
    """One axis, counted from either end."""
    return st.integers(-rank, rank - 1)


def indices(size: int) -> st.SearchStrategy[Array]:
    """Integer arrays that index an axis of `size`; none but empty ones where it has no element."""
    sides = shapes(max_dims=2) if size else st.just((0,))
    elements = st.integers(-size, size - 1) if size else st.just(0)
    return sides.flatmap(lambda shape: npst.arrays(np.int64, shape, elements=elements))
