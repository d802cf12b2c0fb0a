"""Arrays as users have them: every layout, both element types, ranks 0 to 3, sizes 0 and 1 among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from wengert.arrays import Shape

Sample = np.ndarray[Any, np.dtype[Any]]  # Any: shapes and element types are what varies
LAYOUTS = ("C", "F", "negative", "strided", "read-only")
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 1e-300, 1e300, -1e300, 800.0, -800.0)
IEEE = (*SPECIAL, float("inf"), float("-inf"), float("nan"))


def laid_out(x: Sample, layout: str) -> Sample:
    """The same elements in another layout."""
    if not x.ndim and layout != "read-only":
        return x
    if layout == "F":
        return np.asfortranarray(x)
    if layout == "negative":
        flip = (slice(None, None, -1),) * x.ndim
        return np.ascontiguousarray(x[flip])[flip]
    if layout == "strided":
        wide = np.zeros([2 * n for n in x.shape], x.dtype)
        wide[(slice(None, None, 2),) * x.ndim] = x
        return wide[(slice(None, None, 2),) * x.ndim]
    if layout == "read-only":
        x = x.copy()
        x.flags.writeable = False
    return x


FLOATS: list[np.dtype[Any]] = [np.dtype(np.float32), np.dtype(np.float64)]
dtypes = st.sampled_from(FLOATS)
shapes = npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


@st.composite
def arrays(
    draw: st.DrawFn,
    shape: st.SearchStrategy[Shape] = shapes,
    low: float = -10,
    high: float = 10,
    dtype: np.dtype[Any] | None = None,
) -> Sample:
    """Finite elements between `low` and `high`, multiples of 1/64 so that sums of few are exact."""
    kind: np.dtype[Any] = dtype or draw(dtypes)
    elements = st.integers(int(low * 64), int(high * 64)).map(lambda i: i / 64)
    return laid_out(draw(npst.arrays(kind, draw(shape), elements=elements)), draw(st.sampled_from(LAYOUTS)))


def tolerance(dtype: np.dtype[Any]) -> float:
    return 2e-6 if dtype == np.float32 else 1e-14
