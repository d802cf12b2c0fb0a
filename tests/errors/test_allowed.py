"""What looks like a misuse and is none; the other half of every refusal."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

from .golden import Unchecked, column, d, f, ones, said, v, w


@pytest.mark.parametrize(
    ("layer", "shape", "dtype"),
    [
        (w + ones(3), (2, 3), np.float32),
        (ones(3) * w, (2, 3), np.float32),
        (w + ones(1, 3), (2, 3), np.float32),
        (w * ones(), (2, 3), np.float32),
        (column + ones(5, 3), (5, 3), np.float32),
        (column + ones(1, 3), (5, 3), np.float32),
        (w * 2, (2, 3), np.float32),
        (2.0 / w, (2, 3), np.float32),
        (w * np.float64(2.0), (2, 3), np.float32),
        (np.float32(2.0) * w, (2, 3), np.float32),
        (np.float64(2.0) * w, (2, 3), np.float32),
        (d * v, (2, 3), np.float64),
        (f * w, (2, 3), np.float32),
        (f * 2, (), np.float32),
        (np.float32(3.0) - f, (), np.float32),
        (d**2, (), np.float64),
    ],
)
def test_the_kind_of_a_mix_that_is_allowed(layer: Unchecked, shape: tuple[int, ...], dtype: type) -> None:
    assert layer.shape == shape
    assert layer.dtype == dtype
    assert layer.predict().run() is not None


def test_adding_to_an_array_in_place_gives_an_expression_and_leaves_the_array() -> None:
    start: Unchecked = np.zeros(3, np.float32)
    total = start
    total += w
    assert isinstance(total, wg.ArrayLayer)
    assert start.tolist() == [0.0, 0.0, 0.0]


def test_the_check_of_texts_fails_where_a_weight_changes() -> None:
    def action() -> None:
        (d * 1.0).train().run()
        raise ValueError("too late")

    with pytest.raises(AssertionError):
        said(action)


def test_the_check_of_texts_fails_where_nothing_is_refused() -> None:
    with pytest.raises(pytest.fail.Exception):
        said(lambda: w + 1.0)
