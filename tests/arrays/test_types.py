"""Which implementation, shape, element type and device belong to a value, at run time and for checkers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, assert_type

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from wengert.arrays import (
    FLOAT32,
    FLOAT64,
    HOST,
    MASK,
    SCALAR,
    Array,
    ArrayLiteral,
    Cpu,
    Gpu,
    GpuArray,
    Host,
    HostArray,
    Value,
    device_name,
    device_of,
    dtype_from,
    dtype_of,
    host_array,
    indexed_shape,
    integer_array,
    is_array,
    is_finite,
    is_float32,
    is_host_array,
    is_integer,
    namespace_for,
    namespace_of,
    one_like,
    root,
    shape_of,
    zeros_like,
    zeros_of,
)

if TYPE_CHECKING:
    import cupy

    def checked_on_the_device(x: cupy.ndarray[tuple[int, int], np.dtype[np.float32]]) -> None:
        array: Array[tuple[int, int], np.float32, Gpu] = x
        literal: ArrayLiteral[np.float32, Gpu] = x
        wrong: ArrayLiteral[np.float32, Cpu] = x  # type: ignore[assignment]  # it is on the other device
        assert_type(x.get(), HostArray[tuple[int, int], np.float32])
        exact: GpuArray[tuple[int, int], np.float32] = x
        used(array, literal, wrong, exact)


def used(*_: object) -> None:
    """Keeps names that only a checker looks at."""


def test_checkers_agree() -> None:
    matrix: HostArray[tuple[int, int], np.float64] = np.zeros((2, 3))
    array: Array[tuple[int, int], np.float64] = matrix
    literal: ArrayLiteral[np.float64] = matrix
    host: Host[np.float64] = matrix
    other: ArrayLiteral[np.float32] = matrix  # type: ignore[assignment]  # element types do not mix
    scalar: ArrayLiteral = np.float32(1)  # type: ignore[assignment]  # a numpy scalar is no array literal
    far: Array[tuple[int, int], np.float64, Gpu] = matrix  # type: ignore[assignment]  # numpy is not on a GPU
    bare: Array = np.zeros((2, 3), np.float32)
    assert_type(array.shape, tuple[int, int])
    assert_type(array.device, Cpu)
    assert_type(bare.device, Cpu)
    used(literal, host, other, scalar, far)


class Fake:
    """Classes that look like cupy's from outside; the true ones need a driver."""

    class Device:
        id = 3

    class ndarray:
        shape = (2,)
        dtype = FLOAT32

    for _kind in (Device, ndarray):
        _kind.__module__ = "cupy.fake"
        _kind.__qualname__ = _kind.__name__


@pytest.fixture
def device_array() -> Iterator[Any]:
    """An array of the fake, with a fake implementation to be found for it."""
    gpu = ModuleType("wengert.arrays.gpu")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "wengert.arrays.gpu", gpu)
        x: Any = Fake.ndarray()
        x.device = Fake.Device()
        yield x
        vars(sys.modules["wengert.arrays.dispatch"])["_by_class"].pop(Fake.ndarray, None)


def test_host_values() -> None:
    class Sub(np.ndarray[Any, np.dtype[Any]]):
        pass

    for x in (np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32).view(Sub)):
        assert is_array(x)
        assert is_host_array(x)
        assert namespace_of(x) is HOST
        assert (shape_of(x), dtype_of(x), device_of(x)) == ((2, 3), FLOAT32, "cpu")
    single = np.float32(1)
    assert not is_array(single)
    assert namespace_of(single) is HOST
    assert (shape_of(single), dtype_of(single), device_of(single)) == ((), FLOAT32, "cpu")
    assert namespace_of(np.bool(True)) is HOST


def test_python_values() -> None:
    class Metres(float):
        pass

    for x in (1.0, 1, Metres(1)):
        assert namespace_of(x) is namespace_for("cpu", False)
        assert (shape_of(x), dtype_of(x), device_of(x)) == ((), FLOAT64, "cpu")
        assert not is_array(x)
    assert namespace_for("cpu", False).exp is SCALAR.exp
    assert dtype_of(True) == MASK


def test_device_values(device_array: Any) -> None:
    assert is_array(device_array)
    assert not is_host_array(device_array)
    assert isinstance(device_array, GpuArray.__origin__)  # type: ignore[attr-defined]  # an alias, at run time
    assert isinstance(device_array.device, Gpu)
    assert not isinstance("cpu", Gpu)
    assert not isinstance(np.zeros(1), GpuArray.__origin__)  # type: ignore[attr-defined]  # an alias, at run time
    assert device_of(device_array) is device_array.device
    assert device_name(device_of(device_array)) == "cuda:3"
    gpu: Value = sys.modules["wengert.arrays.gpu"]
    assert namespace_of(device_array) is gpu
    assert namespace_for(device_of(device_array), True) is gpu
    assert namespace_for("cpu", True) is HOST


@pytest.mark.parametrize("x", ["text", None, [1.0], 1j, object()])
def test_no_value(x: object) -> None:
    assert not is_array(x)
    with pytest.raises(
        TypeError, match=rf"^builtins\.{type(x).__name__} is no number and no array of numpy or cupy$"
    ):
        namespace_of(x)


def test_integers() -> None:
    assert is_integer(3)
    assert is_integer(np.uint8(3))
    for x in (True, np.bool(True), 3.0, np.zeros((), int), "3"):
        assert not is_integer(x)


def test_element_types_of_annotations() -> None:
    assert dtype_from(np.float32) == FLOAT32
    assert dtype_from(np.dtype[np.float64]) == FLOAT64
    assert dtype_from(np.dtype(np.float64)) == FLOAT64
    for open_one in (Any, np.floating, np.floating[Any], np.dtype[Any], np.generic, float, int, None, Value):
        assert dtype_from(open_one) is None


def test_functions_for_every_kind_of_value() -> None:
    array = np.full((2, 3), 4.0, np.float32)
    for x in (4.0, np.float32(4), array):
        for got, wanted in ((zeros_like(x), 0), (one_like(x), 1), (root(x), 2)):
            assert (shape_of(got), dtype_of(got)) == (shape_of(x), dtype_of(x))
            assert np.all(got == wanted)
        assert is_finite(x)
        assert not is_finite(x * float("inf"))
        assert is_array(host_array(x))
        assert (host_array(x).shape, host_array(x).dtype) == (shape_of(x), dtype_of(x))
    assert host_array(array) is array
    assert is_float32(np.float32(4))
    assert not is_float32(np.float64(4))


def test_lists_of_indices() -> None:
    assert integer_array([0, 2]).tolist() == [0, 2]
    assert integer_array([]).dtype == np.intp


@given(data=st.data())
def test_indexed_shape(data: st.DataObject) -> None:
    shape = data.draw(npst.array_shapes(min_dims=1, max_dims=4, max_side=3))
    key = data.draw(
        npst.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True)
        | npst.integer_array_indices(shape)
        | st.tuples(st.just(Ellipsis), st.just(zeros_of((2, 2))))
        | st.tuples(st.just(zeros_of((2, 1))), st.just(None), st.just(0))
        | st.tuples(*[st.sampled_from([0, -1, slice(1, None), None, Ellipsis, zeros_of((2,)), 7])] * 4)
    )
    try:
        wanted = np.zeros(shape)[key].shape
    except IndexError:
        with pytest.raises(IndexError):
            indexed_shape(shape, key)
    else:
        assert indexed_shape(shape, key) == wanted


def test_an_ellipsis_parts_index_arrays_even_where_it_stands_for_no_axis() -> None:
    key = (slice(None), zeros_of((2,)), ..., zeros_of((2,)))
    assert indexed_shape((5, 2, 2), key) == np.zeros((5, 2, 2))[key].shape == (2, 5)


def test_indexed_shape_says_what_does_not_fit() -> None:
    with pytest.raises(IndexError, match=r"^index 7 is out of bounds for axis 1 with size 3$"):
        indexed_shape((2, 3), (0, 7))
    with pytest.raises(IndexError, match=r"^too many indices: the array has 2 axes, 3 were indexed$"):
        indexed_shape((2, 3), (0, 0, 0))
    assert indexed_shape((10**6, 10**6, 10**6), zeros_of((10**3,))) == (10**3, 10**6, 10**6)
