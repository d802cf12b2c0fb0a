"""L-BFGS: as good as PyTorch's and SciPy's, all or nothing, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ArgumentError, NonFiniteError
from wengert.nn import Linear, weights
from wengert.plugins import SGD
from wengert.training import lbfgs

X = np.random.default_rng(0).standard_normal((40, 3)).astype(np.float32)
Y = (X @ np.array([[1.0], [-2.0], [0.5]], np.float32)) + np.float32(3.0)


def test_a_model_is_fitted() -> None:
    model: Any = Linear.make(SGD(learning_rate=0.1), 3, 1, seed=0)
    found = lbfgs(wg.mean(wg.square(model(X) - Y)), model)
    assert found.converged and found.loss < 1e-9 and found.iterations < 30
    np.testing.assert_allclose(model.weight.data.ravel(), [1.0, -2.0, 0.5], atol=1e-4)
    assert model.weight.data.dtype == np.float32


def test_numbers_are_weights_too() -> None:
    x, y = (SGD(learning_rate=0.1).double_weight(v, name=n) for v, n in ((-1.2, "x"), (1.0, "y")))
    rosenbrock = wg.square(1.0 - x) + 100.0 * wg.square(y - wg.square(x))
    found = lbfgs(rosenbrock, [x, y], iterations=200, tolerance=1e-9)
    assert found.converged and (x.data, y.data) == pytest.approx((1.0, 1.0), abs=1e-6)


def test_what_is_wrong_is_one_error_and_nothing_changes() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.full(2, -1.0, np.float64), name="w")
    with pytest.raises(NonFiniteError, match="the loss is nan before the first step"):
        lbfgs(wg.sum(wg.log(w)), [w])
    with pytest.raises(ArgumentError, match="the model has no weights"):
        lbfgs(wg.sum(w), {})
    with pytest.raises(ArgumentError, match="iterations is an integer from 1 on; got 0"):
        lbfgs(wg.sum(w), [w], iterations=0)
    assert w.data.tolist() == [-1.0, -1.0] and list(weights({"w": w})) == ["w"]
