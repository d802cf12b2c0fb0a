"""Arrays of other libraries are taken where an array is: DLPack, `__array__`, `__array_interface__`."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.arrays import interchanged
from wengert.errors import DTypeError, NotDifferentiableError, ShapeError
from wengert.plugins import SGD

SETTINGS = SGD(learning_rate=0.1)


class DLPack:
    def __init__(self, x: np.ndarray[Any, Any]) -> None:
        self.x = x

    def __dlpack__(self, **options: Any) -> Any:
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.x.__dlpack_device__()


class Column:
    def __init__(self, x: np.ndarray[Any, Any]) -> None:
        self.x = x

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.x


class Interface:
    def __init__(self, x: np.ndarray[Any, Any]) -> None:
        self.x = x
        self.__array_interface__ = x.__array_interface__


FORMS = DLPack, Column, Interface


@pytest.mark.parametrize("form", FORMS)
def test_an_array_of_another_library_is_one(form: Any) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    w = SETTINGS.array_weight(form(x), 2, 3)
    assert np.array_equal(w.data, x)
    assert wg.literal(form(x), 2, 3).shape == (2, 3)
    made = [
        wg.lift(form(x)),
        wg.relu(form(x)),
        w * form(x),
        form(x) + w,
        wg.gather(wg.lift(form(x))).map(lambda t: t[0]),
    ]
    assert [np.shape(it.predict().run() if hasattr(it, "predict") else it.run()) for it in made] == [
        (2, 3)
    ] * 5
    assert np.array_equal((w * form(x)).predict().run(), x * x)


@pytest.mark.parametrize("form", FORMS)
def test_what_its_owner_writes_later_is_not_seen(form: Any) -> None:
    x = np.ones(3)
    layer = wg.lift(form(x)) * 1.0
    x[:] = 7.0
    assert layer.predict().run().tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("form", FORMS)
def test_weights_take_their_data_and_deltas(form: Any) -> None:
    x, w = (
        np.arange(6, dtype=np.float32).reshape(2, 3),
        SETTINGS.array_weight(np.zeros((2, 3), np.float32), 2, 3),
    )
    setting = wg.assign({w: form(x)})
    assert np.array_equal(w.predict(at={w: form(x)}).run(), x)
    assert np.array_equal(wg.jvp(w * 2.0, w, form(x)).run()[1], 2.0 * x)
    wanted, x[:] = x.copy(), 7.0
    setting.run()
    assert np.array_equal(w.data, wanted)
    wg.apply({w: form(np.ones((2, 3), np.float32))}).run()
    assert np.allclose(w.data, wanted - SETTINGS.learning_rate)
    with pytest.raises(ShapeError, match=r"assign: an array of shape \(3,\) for <ArrayWeight"):
        wg.assign({w: form(np.ones(3, np.float32))})
    with pytest.raises(DTypeError, match="assign: an array of float64 for <ArrayWeight"):
        wg.assign({w: form(np.ones((2, 3)))})


def test_reading_copies_nothing() -> None:
    x = np.ones(3)
    for form in FORMS:
        assert np.shares_memory(interchanged(form(x)), x)


def test_integers_are_indices() -> None:
    column: Any = Column(np.array([2, 0]))
    of: Any = wg.lift(np.arange(3.0))
    assert wg.take(of, column).predict().run().tolist() == [2.0, 0.0]


def test_what_cannot_be_read_says_so() -> None:
    class Needing(DLPack):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("it requires a gradient")

        def detach(self) -> None: ...

    needs: Any = Needing(np.ones(2))  # Any: checkers know arrays of numpy and cupy only, and misuse
    column: Any = Column(np.arange(3))
    text: Any = "text"
    thing: Any = object()

    with pytest.raises(
        DTypeError, match=r"Needing cannot be read as an array: it requires a gradient; write x\.detach\(\)"
    ):
        wg.lift(needs)
    with pytest.raises(DTypeError, match=r"test_interchange\.py:"):
        wg.literal(needs)
    with pytest.raises(DTypeError, match="expected an array, got 'text'"):
        SETTINGS.array_weight(text)
    with pytest.raises(DTypeError, match="an array of int64 is not differentiable"):
        SETTINGS.array_weight(column)
    with pytest.raises(NotDifferentiableError):
        wg.lift(thing)


@pytest.mark.parametrize("library", ["torch", "jax.numpy", "pandas", "polars"])
def test_libraries_that_are_installed(library: str) -> None:
    made: Any = pytest.importorskip(library)
    x = (
        made.Series([1.0, 2.0])
        if hasattr(made, "Series")
        else importlib.import_module(library).asarray([1.0, 2.0])
    )
    assert wg.sum(wg.lift(x) * 2.0).predict().run() == pytest.approx(6.0)


def test_a_weight_is_read_in_place_and_written_beside() -> None:
    w = SETTINGS.array_weight(np.ones((2, 3), np.float32))
    buffer = SETTINGS.buffer(np.arange(3.0))
    seen = np.from_dlpack(w)
    assert np.shares_memory(seen, w.data)
    assert not seen.flags.writeable
    assert np.array_equal(np.from_dlpack(buffer), np.arange(3.0))
    wg.sum(w).train().run()
    assert (seen == 1.0).all()
    assert (np.from_dlpack(w) != 1.0).all()
    assert w.__dlpack_device__() == seen.__dlpack_device__()


def test_a_library_that_does_not_know_of_read_only_memory_gets_a_copy() -> None:
    w = SETTINGS.array_weight(np.ones(3))

    class Older:
        """What a consumer of DLPack before version 1 asks for."""

        def __dlpack__(self, **options: Any) -> Any:
            return w.__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return w.__dlpack_device__()

    seen = np.from_dlpack(Older())
    assert np.array_equal(seen, w.data)
    assert not np.shares_memory(seen, w.data)


def test_a_weight_is_no_array_of_another_library() -> None:
    w = SETTINGS.array_weight(np.ones(3))
    given: Any = w  # Any: misuse
    with pytest.raises(DTypeError, match="takes an array of float64, got <ArrayWeight"):
        wg.assign({w: given})
