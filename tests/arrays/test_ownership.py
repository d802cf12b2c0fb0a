"""What the library keeps cannot be written to by anybody, and what it shows cannot be written through."""

from __future__ import annotations

from pickle import PickleBuffer
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

from wengert.arrays import HOST, own_copy
from wengert.arrays.ownership import new_array, owners, unshared
from wengert.errors import NotDifferentiableError

from .samples import Sample, arrays


def chain(x: Any) -> list[Any]:
    """`x` and everything whose memory it shows."""
    found = []
    while x is not None:
        found.append(x)
        x = getattr(x, "base", None)
    return found


@given(arrays())
def test_freeze_copies_once(x: Sample) -> None:
    frozen = HOST.freeze(x)
    assert_array_equal(frozen, x)
    assert frozen.dtype == x.dtype
    assert not np.shares_memory(frozen, x)
    for link in chain(frozen):
        assert isinstance(link, bytes) or not link.flags.writeable
    assert HOST.freeze(frozen) is frozen
    assert HOST.freeze(frozen.T).base is frozen


@given(arrays())
def test_nothing_makes_a_frozen_array_writeable(x: Sample) -> None:
    for link in chain(HOST.freeze(x))[:-1]:
        with pytest.raises(ValueError, match="WRITEABLE"):
            link.flags.writeable = True


def test_a_read_only_array_of_the_user_is_copied_because_it_can_be_unlocked() -> None:
    x = np.ones(3)
    x.flags.writeable = False
    frozen = HOST.freeze(x)
    x.flags.writeable = True
    x[:] = 7
    assert_array_equal(frozen, np.ones(3))


def test_a_view_of_a_writeable_array_is_copied() -> None:
    x = np.ones((2, 3))
    view = x[0]
    view.flags.writeable = False
    frozen = HOST.freeze(view)
    x[:] = 7
    assert_array_equal(frozen, np.ones(3))


def test_layout_is_kept() -> None:
    assert HOST.freeze(np.zeros((3, 2), order="F")).flags.f_contiguous
    assert HOST.freeze(np.zeros((3, 2))).flags.c_contiguous
    assert HOST.freeze(np.zeros((6, 4))[::2, ::2]).flags.c_contiguous


def test_numpy_scalars_are_immutable_already() -> None:
    x = np.float32(3)
    assert HOST.freeze(x) is x
    assert HOST.as_readonly(x) is x


def test_a_memory_map_is_an_array(tmp_path: Any) -> None:
    x = np.memmap(tmp_path / "x", np.float32, "w+", shape=(2, 3))
    frozen = HOST.freeze(x)
    x[:] = 7
    assert type(frozen) is np.ndarray
    assert_array_equal(frozen, np.zeros((2, 3)))


def test_arrays_that_mean_something_else_are_refused() -> None:
    with pytest.raises(
        NotDifferentiableError,
        match=r"^numpy\.ma\.MaskedArray is not used as an array, because its operations mean something else; "
        r"write numpy\.asarray\(x\), or x\.filled\(value\) for a masked array$",
    ):
        HOST.freeze(np.ma.masked_array([1.0, 2.0], [True, False]))
    with pytest.raises(
        NotDifferentiableError,
        match=r"^an array of Python objects \(dtype object\) has no derivative; "
        r"write x\.astype\(numpy\.float64\)$",
    ):
        HOST.freeze(np.array([1, None]))


@given(arrays())
def test_a_read_only_view_follows_and_cannot_be_unlocked(x: Sample) -> None:
    x = x.copy()
    view = HOST.as_readonly(x)
    assert view.dtype == x.dtype
    x[...] = 7
    assert_array_equal(view, x)
    assert not x.size or np.shares_memory(view, x)
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True
    assert x.flags.writeable


@pytest.mark.parametrize("shape", [(16, 64), (3072, 64), (300,), (1, 2, 300)])
def test_a_larger_own_array_begins_on_a_cache_line_and_is_the_base_of_its_views(
    shape: tuple[int, ...],
) -> None:
    x = own_copy(np.ones(shape, np.float32, order="F"))
    assert x.ctypes.data % 64 == 0
    assert x.flags.c_contiguous and x.flags.writeable and x.flags.aligned
    assert (x == 1).all()
    assert x[..., 1:].base is x  # who asks whose memory a view has finds the array
    assert x.T.base is x


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (7,)])
def test_a_small_own_array_is_like_any_other(shape: tuple[int, ...]) -> None:
    x = own_copy(np.ones(shape))
    assert x.base is None
    np.testing.assert_array_equal(x, np.ones(shape), strict=True)


def test_a_new_array_is_the_base_of_its_views_and_nobody_elses() -> None:
    x = new_array((40, 40), np.dtype(np.float64))
    assert x[1:][1:].base is x
    assert not isinstance(x.base, np.ndarray)
    assert [type(link) for link in owners(x[1:])] == [np.ndarray, np.ndarray, PickleBuffer, np.ndarray]
    made, kept = [new_array((40, 40), np.dtype(np.float64))], id(x)
    found = id(made[0])
    assert id(unshared(made)) == found
    assert id(unshared([x])) != kept


def test_memory_that_somebody_else_has_is_shared_through_any_buffer() -> None:
    kept: Any = np.zeros(4)
    buffers: list[Any] = [PickleBuffer(kept), memoryview(kept)]
    for buffer in buffers:
        assert not np.shares_memory(unshared([np.frombuffer(buffer)]), kept)
        assert any(link is kept for link in owners(np.frombuffer(buffer)))
