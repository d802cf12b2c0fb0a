"""Examples of segments, of elements added at places, and of products with a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.sparse import csr_array

import wengert as wg

from . import draw as d
from .example import Example

NUMBERS = d.numbers(-3, 3)


@st.composite
def segments(draw: st.DrawFn, name: str) -> Example:
    """Each segment has a slice, and no two elements are equal: elsewhere extrema are infinite or have a corner."""
    count = draw(st.integers(1, 3))
    n = count + draw(st.integers(0, 3))
    shape = (n, *draw(d.shapes(max_dims=1, min_side=1)))
    order = draw(
        st.permutations([*range(count), *(draw(st.integers(-count, count - 1)) for _ in range(n - count))])
    )
    ids, x = np.array(order), draw(d.distinct(shape))
    call = getattr(wg, name)
    hot = np.eye(count)[:, ids]

    def plain(xp: Any, x: Any) -> Any:  # Any: values of numpy or of autograd
        if name == "segment_mean":
            return xp.tensordot(hot / np.sum(hot, axis=1, keepdims=True), x, 1)
        if name == "segment_softmax":
            parts = xp.exp(x)
            return parts / xp.tensordot(hot, parts, 1)[ids]
        best = xp.max if name == "segment_max" else xp.min
        return xp.stack([best(x[np.nonzero(hot[i])[0]], axis=0) for i in range(count)])

    return Example(lambda x: call(x, ids, num_segments=count), plain, (x,))


@st.composite
def index_add(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes(min_dims=1, min_side=1))
    at = draw(d.axis(len(shape)))
    place, n = at % len(shape), shape[at]
    places = draw(npst.arrays(np.int64, draw(st.integers(0, 4)), elements=st.integers(-n, n - 1)))
    source = draw(d.arrays((*shape[:place], len(places), *shape[place + 1 :]), NUMBERS))
    hot = np.eye(n)[places]

    def plain(xp: Any, x: Any, source: Any) -> Any:  # Any: values of numpy or of autograd
        return x + xp.moveaxis(xp.tensordot(source, hot, ([place], [0])), -1, place)

    x = draw(d.arrays(shape, NUMBERS))
    return Example(lambda x, source: wg.index_add(x, places, source, axis=at), plain, (x, source))


@st.composite
def scatter_add(draw: st.DrawFn) -> Example:
    shape = draw(d.shapes(min_dims=1, min_side=1))
    at = draw(d.axis(len(shape)))
    place, n = at % len(shape), shape[at]
    own = (*shape[:place], draw(st.integers(0, 3)), *shape[place + 1 :])
    places = draw(npst.arrays(np.int64, own, elements=st.integers(-n, n - 1)))
    hot = np.moveaxis(np.eye(n)[places], -1, place)  # by the axis of places, then by that of the source

    def plain(xp: Any, x: Any, source: Any) -> Any:  # Any: values of numpy or of autograd
        return x + xp.sum(hot * xp.expand_dims(source, place), axis=place + 1)

    x, source = draw(d.arrays(shape, NUMBERS)), draw(d.arrays(own, NUMBERS))
    return Example(lambda x, source: wg.scatter_add(x, places, source, axis=at), plain, (x, source))


@st.composite
def sparse_matmul(draw: st.DrawFn) -> Example:
    m, k = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    dense = draw(npst.arrays(np.float64, (m, k), elements=st.sampled_from((0.0, 0.0, 1.5, -2.0))))
    x = draw(d.arrays((k, *draw(d.shapes(max_dims=1, min_side=1))), NUMBERS))
    matrix: Any = csr_array(dense)  # Any: SciPy ships no types
    return Example(lambda x: wg.sparse_matmul(matrix, x), lambda xp, x: xp.tensordot(dense, x, 1), (x,))
