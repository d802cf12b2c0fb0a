"""Arguments of a wrong form are refused where they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import WengertError
from wengert.plugins import SGD


@pytest.mark.parametrize("axes", [(0, 1, 2), [0], (), "ij", None, ((0,), (0,), (0,))])
def test_axes_of_a_tensordot_are_a_number_or_a_pair(axes: Any) -> None:  # Any: wrong on purpose
    x = wg.lift(np.ones((2, 2, 2)))
    assert wg.tensordot(x, x, axes=((0, 1), (0, 1))).shape == (2, 2)
    with pytest.raises(WengertError, match="tensordot"):
        wg.tensordot(x, x, axes=axes)


REDUCED = ["sum", "mean", "max", "min", "prod", "var", "std", "logsumexp"]


@pytest.mark.parametrize("name", [*REDUCED, "softmax", "log_softmax", "cumulative_sum", "stack", "concat"])
def test_an_axis_may_be_an_integer_of_numpy_and_no_truth_value(name: str) -> None:
    call: Any = getattr(wg, name)  # Any: each has its own signature
    x: Any = np.arange(6.0).reshape(2, 3)  # Any: one array, or a list of them
    x = [x, x] if name in ("stack", "concat") else x
    expected = call(x, axis=1).predict().run()
    for axis in (np.int64(1), np.int8(-1)) if name != "stack" else (np.int64(1), np.int8(-2)):
        for _ in range(4):  # a program may be made of it
            np.testing.assert_array_equal(call(x, axis=axis).predict().run(), expected)
    for wrong in (True, np.True_, 1.0, "1"):
        with pytest.raises(WengertError, match=f"{name}: an axis is an integer"):
            call(x, axis=wrong)


@pytest.mark.parametrize("name", REDUCED)
def test_keepdims_is_a_truth_value(name: str) -> None:
    call: Any = getattr(wg, name)  # Any: each has its own signature
    w = SGD(learning_rate=0.1).array_weight(np.ones((2, 3), np.float64))
    for keeps, shape in ((np.True_, (2, 1)), (np.False_, (2,))):
        layer = call(w, axis=1, keepdims=keeps)
        assert layer.shape == layer.predict().run().shape == shape
        assert wg.gradients(wg.sum(layer), (w,)).run()[0].shape == (2, 3)
    for wrong in (1, "x", None, np.ones(2)):
        with pytest.raises(WengertError, match=f"{name}: .*keepdims"):
            call(w, keepdims=wrong)


@pytest.mark.parametrize("name", ["stack", "concat"])
def test_what_is_joined_comes_in_a_list(name: str) -> None:
    call: Any = getattr(wg, name)  # Any: wrong arguments
    for wrong in (5, None, np.array(1.5), wg.lift(np.ones(2))):
        with pytest.raises(WengertError, match=r"refused_arguments\.py"):
            call(wrong)
