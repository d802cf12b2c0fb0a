"""A few rows times a large matrix go through slices, also where a program serves any number of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.run.batching.trees import Layer, close, sequential
from wengert import run
from wengert.arrays import thin
from wengert.plugins import SGD


@pytest.mark.slow
@pytest.mark.skipif(not thin._SLICED, reason="numpy's BLAS has no products without copies here")
@pytest.mark.parametrize("rows", few([2, 3, 40], 1))
def test_a_launch_chooses_by_its_rows(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, seen = np.random.default_rng(0), set[tuple[int, bool]]()
    w = SGD(learning_rate=1e-3).array_weight(chance.normal(size=(640, 900)) / 30)
    v = SGD(learning_rate=1e-3).array_weight(chance.normal(size=640))
    sliced = thin.dot

    def dot(a: Any, b: Any, /, out: Any = None) -> Any:  # Any: arrays
        seen.add((len(a), b.flags.c_contiguous))
        return sliced(a, b, out)

    monkeypatch.setattr(thin, "dot", dot)

    @wg.cell
    def cost(x: Layer) -> Layer:
        return wg.sum(wg.tanh((x * v) @ w))

    def loss() -> Layer:
        parts = [cost(chance.normal(size=640)) for _ in range(rows)]
        return sum(parts[1:], parts[0])

    batched = run.Batched()
    for _ in range(4):  # a program is made after some launches
        one = loss()
        expected = wg.gradients(one, (w, v)).run(sequential())
        seen.clear()
        close(wg.gradients(one, (w, v)).run(batched), expected, 1e-11)
    assert seen == ({(rows, True), (rows, False)} if rows < 32 else set())
