"""D85: one factor for all deltas of a settings object in a run, measured where the plugin stands."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from wengert.plugins import (
    ClipByGlobalNorm,
    L2Regularization,
    LearningRate,
    Momentum,
    WeightDecay,
)
from wengert.plugins.optimizer import Optimizer

F32 = np.float32


class Clipped(ClipByGlobalNorm, LearningRate): ...


def test_the_check() -> None:
    w = Clipped(learning_rate=1.0, max_norm=1.0).double_weight(1.0)
    for d in (1.0, 2.0):
        (w * d).train().run()
    assert w.data == -1.0


def test_the_norm_is_that_of_all_weights_of_every_kind() -> None:
    settings = Clipped(learning_rate=1.0, max_norm=1.0)
    a, f = settings.double_weight(0.0), settings.float_weight(0.0)
    v, m = settings.array_weight(np.zeros(3)), settings.array_weight(np.zeros((2, 2)))
    table = settings.array_weight(np.zeros((4, 1)))
    x = np.ones((1, 2))
    scalars = wg.sum(v * np.array([1.0, 2.0, 2.0], np.float64)) + a * 4.0
    lazy = wg.sum(wg.matmul(x, m)) + wg.sum(wg.take(table, [1, 1, 3]))
    (scalars + lazy + wg.sum(wg.multiply(v, 0.0))).train().run()
    n = np.sqrt(9.0 + 16.0 + 4.0 + 5.0)
    assert a.data == pytest.approx(-4.0 / n)
    assert np.allclose(v.data, -np.array([1.0, 2.0, 2.0], np.float64) / n)
    assert np.allclose(m.data, -np.ones((2, 2)) / n)
    assert np.allclose(table.data.ravel(), -np.array([0.0, 2.0, 0.0, 1.0]) / n)
    (f * 3.0).train().run()
    assert f.data == F32(-1.0) and type(f.data) is F32


def test_other_settings_objects_are_not_measured() -> None:
    one, other = (Clipped(learning_rate=1.0, max_norm=1.0) for _ in range(2))
    a, b = one.double_weight(0.0), other.double_weight(0.0)
    (a * 0.5 + b * 4.0).train().run()
    assert (a.data, b.data) == (-0.5, -1.0)


def test_below_the_norm_nothing_is_changed() -> None:
    w = Clipped(learning_rate=1.0, max_norm=5.0).array_weight(np.zeros(2))
    wg.sum(w * np.array([3.0, 4.0], np.float64)).train().run()
    assert w.data.tolist() == [-3.0, -4.0]
    wg.sum(w * 0.0).train().run()
    assert w.data.tolist() == [-3.0, -4.0]


def test_it_measures_what_reaches_it() -> None:
    class Before(ClipByGlobalNorm, L2Regularization, LearningRate): ...

    class After(L2Regularization, ClipByGlobalNorm, LearningRate): ...

    class Remembered(Momentum, ClipByGlobalNorm, LearningRate): ...

    ends = []
    for make in (Before, After):
        w = make(learning_rate=1.0, max_norm=1.0, l2=0.5).double_weight(4.0)
        (w * 3.0).train().run()
        ends.append(w.data)
    assert ends == [4.0 - (1.0 + 2.0), 4.0 - 1.0]
    w = Remembered(learning_rate=1.0, max_norm=1.0, momentum=0.5).double_weight(0.0)
    for d in (0.5, 0.5, 0.5):  # v = 0.5, 0.75, 0.875: measuring steps no state
        (w * d).train().run()
    assert w.data == -(0.5 + 0.75 + 0.875)


def test_decay_is_not_clipped_wherever_it_stands() -> None:
    class Left(WeightDecay, ClipByGlobalNorm, LearningRate): ...

    class Right(ClipByGlobalNorm, LearningRate, WeightDecay): ...

    for make in (Left, Right):
        w = make(learning_rate=0.5, max_norm=1.0, weight_decay=0.5).double_weight(4.0)
        (w * 3.0).train().run()
        assert w.data == 4.0 - 0.5 * 1.0 - 0.5 * 0.5 * 4.0


def test_no_square_is_too_large_for_the_dtype() -> None:
    settings = Clipped(learning_rate=1.0, max_norm=1.0)
    w, d = settings.array_weight(np.zeros(4, F32)), settings.double_weight(0.0)
    wg.sum(w * F32(3e30)).train().run()
    assert np.allclose(w.data, -0.5)
    (d * 1e200).train().run()
    assert d.data == -1.0


def test_what_is_not_finite_stays_so() -> None:
    settings = Clipped(learning_rate=1.0, max_norm=1.0)
    w = settings.array_weight(np.zeros(2))
    wg.sum(w * np.array([np.inf, 1.0], np.float64)).train().run()
    assert np.isnan(w.data[0])
    v = settings.array_weight(np.zeros(2))
    wg.sum(v * np.array([np.nan, 1.0], np.float64)).train().run()
    assert np.isnan(v.data[0])


def test_a_failure_to_the_left_changes_nothing() -> None:
    class Failing(Optimizer[Any]):
        def step(self, delta: Any, weight: Any) -> Any:
            if weight.name == "bad":
                raise ValueError("no")
            return super().step(delta, weight)

    class Bad(Clipped):
        optimizer: ClassVar[type[Optimizer]] = Failing

    settings = Bad(learning_rate=1.0, max_norm=1.0)
    a, b = settings.double_weight(0.0, name="good"), settings.double_weight(0.0, name="bad")
    with pytest.raises(ValueError, match="no"):
        (a + b).train().run()
    assert (a.data, b.data) == (0.0, 0.0)
