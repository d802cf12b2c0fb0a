"""`add_at` against one addition after the other, for every kind of key that numpy has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.testing import assert_array_equal

from wengert.arrays import HOST, Shape, touched
from wengert.arrays.changes import carry_out

from .samples import Sample, arrays, dtypes, laid_out


def one_by_one(shape: Shape, key: Any, g: Sample) -> Sample:
    places = np.arange(int(np.prod(shape))).reshape(shape)[key]
    total = np.zeros(int(np.prod(shape)), g.dtype)
    for place, value in zip(np.ravel(places), np.ravel(np.broadcast_to(g, np.shape(places))), strict=True):
        total[place] += value
    return total.reshape(shape)


def agrees(shape: Shape, key: Any, g: Sample) -> None:
    wanted = one_by_one(shape, key, g)
    got = HOST.add_at(shape, g.dtype, key, g)
    assert got.dtype == g.dtype
    assert_array_equal(got, wanted)  # exact: multiples of 1/64
    for layout in ("C", "F", "negative", "strided"):
        w = laid_out(np.ones(shape, g.dtype), layout)
        carry_out(HOST.subtract_at(w, key, g))
        assert_array_equal(w, 1 - wanted)


@st.composite
def shapes_and_keys(draw: st.DrawFn) -> tuple[Shape, Any]:
    shape = draw(npst.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    rows = npst.arrays(
        draw(st.sampled_from([np.int64, np.int32, np.int8])),
        npst.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=6),
        elements=st.integers(-shape[0], shape[0] - 1),
    )
    key = draw(
        npst.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True)
        | npst.integer_array_indices(shape)
        | npst.arrays(np.bool, shape)
        | npst.arrays(np.bool, shape[:1])
        | rows
        | st.lists(st.integers(-shape[0], shape[0] - 1))
        | st.lists(st.booleans(), min_size=shape[0], max_size=shape[0])
        | st.just(True)
        | st.tuples(rows, st.just(Ellipsis))
        | st.tuples(st.just(None), rows)
    )
    return shape, key


@given(data=st.data())
def test_every_key(data: st.DataObject) -> None:
    shape, key = data.draw(shapes_and_keys())
    picked = np.shape(np.zeros(shape)[key])
    agrees(shape, key, data.draw(arrays(st.just(picked), dtype=data.draw(dtypes))))


@pytest.mark.parametrize(
    "key",
    [
        (slice(None), np.array([0, 2, 2, 0])),
        (np.array([0, 1, 1]), slice(1, None)),
        (np.array([[0], [1]]), np.array([2, 2, 0])),
        (np.array([True, False, True]), np.array([1, 1])),
        (np.array([0, 0]), 1),
        np.array([200, 3, 200], np.uint8) % 3,
        np.zeros((0,), np.intp),
        [],
    ],
)
def test_mixed_keys(key: Any) -> None:
    picked = np.shape(np.zeros((3, 4))[key])
    agrees((3, 4), key, np.arange(1.0, 1.0 + np.prod(picked)).reshape(picked))


def test_small_indices_do_not_overflow() -> None:
    rows = np.array([1, 1, 2], np.uint8)
    agrees((3, 300), rows, np.ones((3, 300), np.float32))


def test_one_number_for_all() -> None:
    agrees((3, 2), np.array([0, 0]), np.array(2.0))
    agrees((3, 2), np.array([0, 0]), np.array([1.0, 2.0]))


@pytest.mark.parametrize("key", [np.array([3]), np.array([-4]), np.array([0.0]), [5]])
def test_what_numpy_refuses_is_refused(key: Any) -> None:
    with pytest.raises(IndexError):
        HOST.add_at((3, 2), np.float32, key, np.ones((1, 2), np.float32))


@pytest.mark.parametrize("shape", [(0, 2), (2, 0)])
def test_empty(shape: Shape) -> None:
    agrees(shape, np.zeros(0, np.intp), np.zeros((0, shape[1])))


@pytest.mark.parametrize("key", [1, np.array([0, 0]), (np.array([0, 0]), 1), np.array([True, False, False])])
def test_a_read_only_array_is_refused(key: Any) -> None:
    w = HOST.freeze(np.ones((3, 2)))
    with pytest.raises(ValueError, match="read-only"):
        carry_out(HOST.subtract_at(w, key, np.float64(1)))
    assert_array_equal(w, np.ones((3, 2)))


@pytest.mark.parametrize("inner", [(), (3,), (2, 2), (0,)])
@pytest.mark.parametrize("times", [0, 1, 40, 3000])
def test_touched_lines_have_the_bits_of_one_addition_after_the_other(
    inner: tuple[int, ...], times: int
) -> None:
    chance, shape = np.random.default_rng(0), (20_000, *inner)
    key = np.concatenate([chance.integers(-9, 9, times), chance.integers(-20_000, 20_000, times // 4)])
    g = np.where(chance.random((len(key), *inner)) < 0.2, -0.0, chance.normal(size=(len(key), *inner)))
    found = touched(key, g, shape)
    assert found is not None
    lines, sums = found
    assert_array_equal(lines, np.unique(key % 20_000))
    total = np.zeros(shape)
    for place, value in zip(key, g, strict=True):
        total[place] += value
    assert sums.tobytes() == total[lines].tobytes()


def test_one_hot() -> None:
    got = HOST.one_hot(np.array([[0, 2]], np.uint8), 3, np.float32)
    assert got.dtype == np.float32
    assert got.tolist() == [[[1, 0, 0], [0, 0, 1]]]
    assert HOST.one_hot(np.array(1), 3, np.float64).tolist() == [0, 1, 0]
    assert HOST.one_hot(np.zeros((0,), int), 3, np.float64).shape == (0, 3)
    for bad in (3, -1):
        with pytest.raises(IndexError):
            HOST.one_hot(np.array([0, bad]), 3, np.float32)
