"""D74 to D84: the column "check": w after d = 1, then 2, from w = 1, rate 1, eps 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import wengert as wg
from tests.optimizers import WithAdagrad, WithAdam, WithAdamW, WithL1, WithMomentum, WithNesterov, WithRMSprop
from wengert.plugins import (
    SGD,
    Adam,
    L2Regularization,
    LearningRate,
    LearningRateSchedule,
    Plugin,
    WeightDecay,
)


class WithL2(L2Regularization, LearningRate): ...


class WithDecay(WeightDecay, LearningRate): ...


class WithDecayToTheRight(LearningRate, WeightDecay): ...


class WithAdamAndDecay(WeightDecay, Adam, LearningRateSchedule): ...


Settings = Plugin
CHECKS: list[tuple[str, Callable[[], Settings], float]] = [
    ("d74 LearningRate", lambda: LearningRate(learning_rate=1.0), -2.0),
    ("d74 SGD", lambda: SGD(learning_rate=1.0), -2.0),
    ("d75 LearningRateSchedule", lambda: LearningRateSchedule(schedule=lambda t: 1.0), -2.0),
    ("d76 L1Regularization", lambda: WithL1(learning_rate=1.0, l1=0.1), -2.0),
    ("d77 L2Regularization", lambda: WithL2(learning_rate=1.0, l2=0.1), -2.09),
    ("d78 WeightDecay", lambda: WithDecay(learning_rate=1.0, weight_decay=0.1), -2.09),
    ("d78 right of it", lambda: WithDecayToTheRight(learning_rate=1.0, weight_decay=0.1), -2.09),
    ("d79 Momentum", lambda: WithMomentum(learning_rate=1.0, momentum=0.9), -2.9),
    ("d80 Nesterov", lambda: WithNesterov(learning_rate=1.0), -5.51),
    ("d81 Adagrad", lambda: WithAdagrad(learning_rate=1.0, eps=0.0), -0.894427),
    ("d82 RMSprop", lambda: WithRMSprop(learning_rate=1.0, eps=0.0), -17.953230),
    ("d83 Adam", lambda: WithAdam(learning_rate=1.0, eps=0.0), -0.965182),
    ("d84 AdamW", lambda: WithAdamW(learning_rate=1.0, weight_decay=0.1, eps=0.0), -1.055182),
    (
        "d84 by hand",
        lambda: WithAdamAndDecay(schedule=lambda t: 1.0, weight_decay=0.1, eps=0.0),
        -1.055182,
    ),
]
checks = pytest.mark.parametrize(("make", "end"), [c[1:] for c in CHECKS], ids=[c[0] for c in CHECKS])


@checks
class TestChecks:
    def test_double(self, make: Callable[[], Settings], end: float) -> None:
        w = make().double_weight(1.0)
        for d in (1.0, 2.0):
            (w * d).train().run()
        assert w.data == pytest.approx(end, abs=1e-6)

    def test_float(self, make: Callable[[], Settings], end: float) -> None:
        w = make().float_weight(1.0)
        for d in (1.0, 2.0):
            (w * d).train().run()
        assert w.data == pytest.approx(end, rel=1e-5, abs=1e-5)
        assert type(w.data) is np.float32

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_array(
        self, make: Callable[[], Settings], end: float, dtype: type[np.floating[Any]]
    ) -> None:  # Any: bits
        data: NDArray[np.floating[Any]] = np.ones((2, 3), dtype)
        w = make().array_weight(data)
        for d in (1.0, 2.0):
            wg.sum(w * d).train().run()
        assert np.allclose(w.data, end, rtol=1e-5, atol=1e-5)
        assert w.data.dtype == dtype

    def test_matrix_of_a_product(self, make: Callable[[], Settings], end: float) -> None:
        """The lazy delta of a matrix weight, `x.T @ g`, goes through every optimizer as its array would."""
        w = make().array_weight(np.ones((2, 3)))
        for d in (1.0, 2.0):
            wg.sum(wg.matmul(np.full((1, 2), d, np.float64), w)).train().run()
        assert np.allclose(w.data, end, rtol=1e-7, atol=1e-6)

    def test_rows_of_a_table(self, make: Callable[[], Settings], end: float) -> None:
        """The sparse delta of `take` too; equal indices add up."""
        w = make().array_weight(np.ones((3, 2)))
        for d in (0.5, 1.0):
            wg.sum(wg.take(w, np.array([1, 2, 0, 1, 0, 2])) * d).train().run()
        assert np.allclose(w.data, end, rtol=1e-7, atol=1e-6)

    def test_state_is_the_weights_own(self, make: Callable[[], Settings], end: float) -> None:
        settings = make()
        one, another = settings.double_weight(1.0), settings.double_weight(1.0)
        for d in (1.0, 2.0):
            (one * d).train().run()
        for d in (1.0, 2.0):
            (another * d).train().run()
        assert one.data == another.data == pytest.approx(end, abs=1e-6)


def test_two_settings_in_one_network() -> None:
    slow, fast = SGD(learning_rate=0.5).double_weight(1.0), WithMomentum(learning_rate=1.0).double_weight(1.0)
    for _ in range(2):
        (slow + fast).train().run()
    assert slow.data == 0.0
    assert fast.data == pytest.approx(1.0 - 1.0 - 1.9)


def test_a_sparse_delta_touches_its_rows_only() -> None:
    w = SGD(learning_rate=1.0).array_weight(np.array([[1.0], [2.0], [3.0]], np.float64))
    wg.sum(wg.take(w, np.array([2, 0, 2]))).train().run()
    assert w.data.tolist() == [[0.0], [2.0], [1.0]]


def test_sparse_plus_dense_is_dense() -> None:
    w = SGD(learning_rate=1.0).array_weight(np.array([[1.0], [2.0], [3.0]], np.float64))
    (wg.sum(wg.take(w, np.array([2, 0, 2]))) + wg.sum(w) + wg.sum(w[1])).train().run()
    assert w.data.tolist() == [[-1.0], [0.0], [0.0]]
