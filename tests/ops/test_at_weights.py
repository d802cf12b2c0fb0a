"""What comes to a weight is left as small as it is: rows of a table, a product of two matrices, parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from wengert import run
from wengert.extend import LazyDelta, Optimizer, Product, dense
from wengert.plugins import LearningRate, Plugin


class Seen(Optimizer["Spied"]):
    """Writes down each delta."""

    deltas: ClassVar[list[Any]] = []  # Any: arrays or lazy ones

    def step(self, delta: Any, weight: Any) -> Any:
        self.deltas.append(delta)
        return super().step(delta, weight)


class Spied(Plugin):
    optimizer: ClassVar[type[Optimizer]] = Seen


class Settings(Spied, LearningRate): ...


Loss = Callable[[Any], Any]
table, ids = np.arange(12.0).reshape(4, 3), np.array([[1, 0, 1], [3, 1, 1]])
LAZY: dict[str, tuple[Loss, str]] = {
    "getitem": (lambda w: w[np.array([1, 3, 1])], "Rows"),
    "getitem of a slice": (lambda w: w[1:3], "Rows"),
    "take": (lambda w: wg.take(w, np.array([1, 3, 1])), "Rows"),
    "take of columns": (lambda w: wg.take(w, np.array([1, 0]), axis=1), "Rows"),
    "take of last columns": (lambda w: wg.take(w, np.array([2, 0]), axis=-1), "Rows"),
    "take_along_axis": (lambda w: wg.take_along_axis(w, ids, axis=0), "Rows"),
    "split": (lambda w: wg.split(w, 2)[1], "Rows"),
    "split of columns": (lambda w: wg.split(w, (1,), axis=-1)[0], "Rows"),
    "matmul": (lambda w: wg.matmul(np.arange(8.0).reshape(2, 4), w), "Product"),
}


@pytest.mark.parametrize("name", LAZY)
def test_the_delta_at_a_weight_is_not_carried_out(name: str) -> None:
    build, term = LAZY[name]
    w = Settings(learning_rate=1.0).array_weight(table)
    away = w * 1.0  # there, a delta is an array
    (expected,) = wg.gradients(wg.sum(wg.square(build(away))), (away,)).run()
    Seen.deltas.clear()
    wg.sum(wg.square(build(w))).train().run(run.Sequential(compiled=False))
    (delta,) = Seen.deltas
    assert isinstance(delta, LazyDelta)
    assert [type(part).__name__ for part in delta.terms] == [term]
    np.testing.assert_allclose(dense(delta), expected)


def test_a_matrix_that_is_used_many_times_is_updated_by_one_product() -> None:
    rows = np.random.default_rng(0).standard_normal((5, 8)).astype(np.float32)
    products = [Product(rows[i : i + 1, :6], rows[i : i + 1]) for i in range(5)]
    several = LazyDelta(products)
    assert len(several.changes(np.zeros((6, 8), np.float32))) == 1
    np.testing.assert_allclose(several.dense(), rows[:, :6].T @ rows, rtol=1e-5)
    long = Product(np.ones((50, 6), np.float32), np.ones((50, 8), np.float32))
    assert len(LazyDelta([*products, long]).changes(np.zeros((6, 8), np.float32))) == 2
    np.testing.assert_allclose(LazyDelta([*products, long]).dense(), rows[:, :6].T @ rows + 50.0, rtol=1e-5)
