"""Which implementation, shape, element type and device belong to a value, at run time and for checkers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, assert_type

import numpy as np
import pytest

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
    is_array,
    is_host_array,
    is_integer,
    namespace_for,
    namespace_of,
    shape_of,
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
        vars(sys.modules["wengert.arrays"])["_by_class"].pop(Fake.ndarray, None)


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
        assert namespace_of(x) is namespace_for(False, "cpu")
        assert (shape_of(x), dtype_of(x), device_of(x)) == ((), FLOAT64, "cpu")
        assert not is_array(x)
    assert namespace_for(False, "cpu").exp is SCALAR.exp
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
    assert namespace_for(True, device_of(device_array)) is gpu
    assert namespace_for(True, "cpu") is HOST


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
