"""The adapter for the derivative tests of HIPS autograd: it finds what is wrong, and says what is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from benchmarks import hips

NUMPY: Any = hips.Namespace("numpy", np, wg, dict(hips.SPELLED))  # Any: functions are found by name


@wg.extend.elementwise(lambda case, g, y, h: g * case.xp.sin(h))
def _wrong_cosine(case: wg.extend.Case, h: Any) -> Any:  # Any: an array of any library
    return case.xp.sin(h)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    np.random.seed(0)


def test_right_derivatives_of_both_orders_pass() -> None:
    x = np.array([0.3, -1.2])
    hips.check_grads(lambda a, b: NUMPY.sin(a) * NUMPY.dot(a, b))(x, np.array([2.0, 0.5]))
    hips.check_grads(lambda p: NUMPY.array([p[0] * p[1], NUMPY.tanh(p[0])]))((0.5, 2.0))
    np.testing.assert_allclose(hips.jacobian(lambda a: NUMPY.exp(a) * 2.0)(x), np.diag(2.0 * np.exp(x)))
    assert hips.grad(lambda a: hips.grad(lambda b: a * b * b)(3.0) * a)(2.0) == pytest.approx(24.0)


def test_a_wrong_derivative_is_found() -> None:
    def f(x: Any) -> Any:  # Any: a number or an expression
        return _wrong_cosine(x) if hips.lazy(x) else np.sin(x)

    with pytest.raises(AssertionError, match="differences"):
        hips.check_grads(f, order=1)(0.4)


def test_a_value_that_is_not_numpys_is_found() -> None:
    with pytest.raises(AssertionError, match="Not equal"):
        hips.check_grads(lambda x: NUMPY.exp(x) + (0.1 if hips.lazy(x) else 0.0), order=1)(0.4)


def test_what_is_missing_is_no_mistake() -> None:
    with pytest.raises(hips.MissingError, match="angle"):
        hips.check_grads(NUMPY.angle)(np.array([0.3, 0.5, 0.7]))
    with pytest.raises(hips.MissingError, match="complex"):
        hips.check_grads(NUMPY.sin)(1j)


def test_a_spectrum_is_a_pair_here_and_in_what_numpy_answers() -> None:
    x: np.ndarray[tuple[int, int], np.dtype[np.float64]] = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])
    here = hips.FOURIER["fft2"](wg.lift(x))
    there = hips.numpy_pair(np.fft.fft2)(x)
    for ours, theirs in zip(hips.data(here), there, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    hips.check_grads(
        lambda pair: (
            hips.FOURIER["irfft"](pair, 5) if hips.symbolic(pair) else hips.numpy_pair(np.fft.irfft)(pair, 5)
        )
    )((x, 2.0 * x))
