"""An operation on an array, integers and an axis: met again it takes a short way, which leads to the same node."""

from __future__ import annotations

from inspect import currentframe
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import extend
from wengert.errors import ShapeError, WengertError
from wengert.plugins import SGD

X: Any = wg.lift(np.arange(6.0).reshape(3, 2))
WORD = np.array(2)


def test_the_short_way_gives_the_same_signature_and_the_users_line() -> None:
    first, here = wg.take(X, WORD, axis=0), currentframe()
    assert here is not None
    again, line = wg.take(X, np.array(1), axis=0), here.f_lineno
    assert again.signature is first.signature
    assert again.site == f"{__file__}:{line}"
    assert [x.predict().run().tolist() for x in (first, again)] == [[4.0, 5.0], [2.0, 3.0]]


@pytest.mark.parametrize("axis", [True, 1.0, np.float64(1.0)], ids=repr)
def test_an_axis_that_equals_an_integer_goes_the_long_way(axis: Any) -> None:
    def outcome() -> object:
        try:
            return wg.take(X, np.array(1), axis=axis).predict().run().tolist()
        except (WengertError, TypeError) as error:
            return type(error)

    before = outcome()
    assert wg.take(X, np.array(1), axis=1).predict().run().tolist() == [1.0, 3.0, 5.0]
    assert outcome() == before


@pytest.mark.parametrize("words", [2, [2, 0], np.int32(2), np.array([2, 0])], ids=repr)
def test_integers_come_in_any_form(words: Any) -> None:
    for _ in range(2):
        found = wg.take(X, words).predict().run()
        assert found.tolist() == X.predict().run()[words].tolist()


def test_an_attribute_of_another_name_is_no_axis() -> None:
    def infer(kinds: Any, *, times: int) -> extend.Kind:
        kind: extend.Kind = kinds[0]
        return kind

    @extend.operation(infer, lambda case, x, i, *, times: x * times)
    def scaled(x: Any, i: Any, /, *, times: int) -> Any:
        raise NotImplementedError

    scaled(X, WORD, times=1)
    with pytest.raises((WengertError, TypeError)):
        extend.indexing(scaled.operation, X, WORD, 1)


MASKS: dict[str, Any] = {  # Any: keys
    "of all axes": np.arange(24.0).reshape(2, 3, 4) % 5.0 > 2.0,
    "of the first two": np.array([[True, False, True], [False, False, True]]),
    "of the second": (slice(None), np.array([True, False, True])),
    "of the last": (..., np.array([True, False, False, True])),
    "behind a new axis and a number": (None, 1, np.array([True, True, False])),
    "that chooses nothing": np.zeros((2, 3), np.bool),
    "as a list": [False, True],
}


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_of_data_chooses_and_sends_deltas_to_what_it_chose(name: str) -> None:
    key, x = MASKS[name], np.arange(24.0).reshape(2, 3, 4)
    weight = SGD(learning_rate=1.0).array_weight(x)
    chosen = weight[key]
    assert chosen.shape == x[key].shape
    assert chosen.predict().run().tolist() == x[key].tolist()
    (delta,) = wg.gradients(wg.sum(wg.square(chosen)), [weight]).run()
    wanted = np.zeros_like(x)
    wanted[key] = 2.0 * x[key]
    assert np.asarray(delta).tolist() == wanted.tolist()


def test_an_index_that_is_no_mask_of_its_axes_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"a mask of shape \(2, 2\) for axes of shape \(3, 2\) of \(3, 2\)"):
        X[np.ones((2, 2), np.bool)]
    with pytest.raises(ShapeError, match="a mask of no axis is no index"):
        X[np.array(True)]
