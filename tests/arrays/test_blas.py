"""`fused_update`: the foreign product, both of numpy's steps, and that they agree in every layout."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.testing import assert_allclose, assert_array_equal

from wengert.arrays import HOST, blas
from wengert.arrays.changes import carry_out
from wengert.errors import ShapeError

from .samples import LAYOUTS, Sample, arrays, dtypes, laid_out

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
foreign = pytest.mark.skipif(
    blas.gemm_of(FLOAT32) is None, reason="numpy's BLAS offers no gemm by a known name"
)


@contextmanager
def forced(way: str) -> Generator[None]:
    """The update goes the given way inside. Not a fixture: one of the module would reach other tests."""
    with pytest.MonkeyPatch.context() as patch:
        if way == "foreign":
            patch.setattr(blas, "_SMALL", 0)
        if way == "two steps":
            patch.setattr(blas, "gemm_of", lambda dtype: None)
        yield


def update(way: str, w: Sample, x: Sample, d: Sample, scale: float) -> None:
    with forced(way):
        carry_out(HOST.fused_update(w, x, d, scale))


every_way = pytest.mark.parametrize("way", ["foreign", "two steps", "as decided"])


def writeable(x: Sample, layout: str) -> Sample:
    return laid_out(x, layout if layout != "read-only" else "C")


def wanted(w: Sample, x: Sample, d: Sample, scale: float) -> Any:
    w, x, d = (a.astype(np.longdouble) for a in (w, x, d))
    return w - scale * (x.T @ d)


@every_way
@given(data=st.data())
def test_update(way: str, data: st.DataObject) -> None:
    n, k, m = (data.draw(st.integers(0, 5)) for _ in "nkm")
    dtype = data.draw(dtypes)
    x = data.draw(arrays(st.just((n, k)), dtype=dtype))
    d = data.draw(arrays(st.just((n, m)), dtype=dtype))
    start = data.draw(npst.arrays(dtype, (k, m), elements=st.integers(-8, 8)))
    w = writeable(start.copy(), data.draw(st.sampled_from(LAYOUTS)))
    update(way, w, x, d, 0.25)
    assert_array_equal(w, wanted(start, x, d, 0.25))  # exact: multiples of 1/2**14 below 2**10


@every_way
@pytest.mark.parametrize("w_layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
def test_large(way: str, w_layout: str, dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((9, 120)).astype(dtype)
    d = rng.standard_normal((9, 70)).astype(dtype)
    start = rng.standard_normal((120, 70)).astype(dtype)
    right = wanted(start, x, d, 0.1)
    for x_layout, d_layout in product(LAYOUTS, LAYOUTS):
        w = writeable(start.copy(), w_layout)
        update(way, w, laid_out(x, x_layout), laid_out(d, d_layout), 0.1)
        assert w.dtype == dtype
        assert_allclose(w, right, rtol=0, atol=3e-6 if dtype == FLOAT32 else 1e-14)


@foreign
def test_foreign_product_is_taken_for_large_contiguous_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("two steps were taken")

    monkeypatch.setattr(blas, "two_step_update", never)
    wide = np.ones((100, 200), np.float32)
    x, d = np.ones((4, 100), np.float32), np.ones((4, 100), np.float32)
    for w in (np.ones((100, 100), np.float32), np.ones((100, 100), np.float32).T, wide[:, :100]):
        for left in (x, np.asfortranarray(x), np.ones((4, 150), np.float32)[:, 20:120]):
            carry_out(HOST.fused_update(w, left, np.asfortranarray(d), 1.0))
    assert_array_equal(wide[:, :100], np.full((100, 100), 1 - 3 * 4, np.float32))
    assert_array_equal(wide[:, 100:], np.ones((100, 100), np.float32))


@every_way
def test_rows_of_a_larger_matrix_are_updated_alone(way: str) -> None:
    arena = np.ones((3, 100, 100))
    update(way, arena[1], np.ones((2, 100)), np.ones((2, 100)), 0.5)
    assert_array_equal(arena, np.stack([np.ones((100, 100)), np.zeros((100, 100)), np.ones((100, 100))]))


@every_way
def test_operands_that_share_memory_with_the_weight(way: str) -> None:
    start = np.random.default_rng(1).standard_normal((100, 100))
    d = np.random.default_rng(2).standard_normal((100, 100))
    aliases: list[Callable[[Any], Any]] = [lambda w: w, lambda w: w.T]
    for alias in aliases:
        w = start.copy()
        update(way, w, alias(w), d, 0.5)
        assert_allclose(w, start - 0.5 * (alias(start).T @ d))
        w = start.copy()
        update(way, w, d, alias(w), 0.5)
        assert_allclose(w, start - 0.5 * (d.T @ alias(start)))


@every_way
def test_a_read_only_weight_is_refused(way: str) -> None:
    w = HOST.freeze(np.ones((100, 100)))
    with pytest.raises(ValueError, match="read-only"):
        update(way, w, np.ones((2, 100)), np.ones((2, 100)), 0.5)
    assert_array_equal(w, np.ones((100, 100)))


@every_way
def test_unaligned_and_foreign_byte_order(way: str) -> None:
    x, d = np.ones((2, 100)), np.ones((2, 100))
    raw = np.zeros(8 * 10_000 + 1, np.uint8)[1:].view(np.float64).reshape(100, 100)
    swapped = np.zeros((100, 100), np.dtype(np.float64).newbyteorder())
    for w in (raw, swapped):
        update(way, w, x, d, 0.5)
        assert_array_equal(w, np.full((100, 100), -1.0))


@every_way
@pytest.mark.parametrize("x_shape", [(2, 99), (2,), (2, 2, 100)])
def test_shapes_that_do_not_fit(way: str, x_shape: tuple[int, ...]) -> None:
    w = np.ones((100, 100))
    with pytest.raises(
        ShapeError, match=r"update: x\.T @ d has shape .*, the weight has \(100, 100\); x has"
    ):
        update(way, w, np.ones(x_shape), np.ones((2, 100)), 0.5)
    assert_array_equal(w, np.ones((100, 100)))


@foreign
def test_a_product_that_does_not_agree_is_not_taken() -> None:
    assert not blas._agrees(lambda *_: None, "d")
    gemm = blas.gemm_of(FLOAT64)
    assert gemm is not None
    assert blas._agrees(gemm, "d")


def test_two_steps_where_the_symbol_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy._core._multiarray_umath", sys.modules["wengert.arrays.blas"])
    blas.gemm_of.cache_clear()
    try:
        assert blas.gemm_of(FLOAT32) is None
    finally:
        blas.gemm_of.cache_clear()
