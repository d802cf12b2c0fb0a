"""A cell of operands whose shape only the run tells."""

from __future__ import annotations

from typing import Any

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from tests.run.cells import EXECUTORS, F64, SETTINGS, open_shape
from tests.run.planned import plain
from wengert.errors import ArgumentError, NotDifferentiableError, ShapeError


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_cell_of_operands_whose_shape_only_the_run_tells(executor: str) -> None:
    def found(marked: Any, executor: Any) -> list[Any]:  # Any: a decorator; executors
        w = SETTINGS.array_weight(np.eye(3, dtype=F64) * 0.5 + 0.1)
        both = marked(lambda x, y: (wg.tanh(x @ w) + y, x * y))
        once = marked(lambda x: wg.tanh(x @ w))
        total: Any = 0.0  # Any: a number and then layers
        for i in range(5):
            a, b = both(open_shape(np.full(3, 0.4 * i, F64)), np.ones(3, F64))
            c, d = both(a, once(b))
            total = total + wg.sum(c * d)
        gradients = [np.asarray(g) for g in wg.gradients(total, (w,)).run(executor)]
        return [np.asarray(total.train().run(executor)), w.data, *gradients]

    for x, y in zip(found(wg.cell, EXECUTORS[executor]()), found(lambda f: f, plain()), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13)


def test_such_a_cell_stays_one_and_is_traced_once_for_what_the_run_tells() -> None:
    traced = []

    @wg.cell
    def twice(x: Any) -> tuple[Any, Any]:
        traced.append(x.kind.shape)
        return x * 2.0, x

    batched = wg.run.Batched()
    for _ in range(3):
        parts = [twice(open_shape(np.full(n, 1.0, F64))) for n in (3, 3, 2, 3, 2)]
        values = wg.predict(tuple(y for y, _ in parts)).run(batched)
    assert [v.tolist() for v in values] == [[2.0] * n for n in (3, 3, 2, 3, 2)]
    assert sorted(traced, key=str) == [(2,), (3,), None]
    lines = [line for line in batched.report.lines.values() if "twice" in line.name]
    assert sorted((line.launches, line.rows) for line in lines) == [(3, 6), (3, 9)]
    assert not batched.report.unbatched


def test_a_cell_of_an_open_operand_can_be_sent_elsewhere() -> None:
    w = SETTINGS.array_weight(np.full(3, 2.0, F64))
    scaled = wg.cell(lambda x: (x * w, x))
    again = cloudpickle.loads(cloudpickle.dumps(wg.sum(scaled(open_shape(np.ones(3, F64)))[0]).predict()))
    assert again.run() == 6.0


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_cell_that_does_more_for_a_known_shape_is_refused_where_it_was_called(executor: str) -> None:
    w = SETTINGS.array_weight(np.ones(3, F64))

    @wg.cell
    def sly(x: Any) -> Any:
        return x * 1.0 if x.kind.shape is None else x * w

    with pytest.raises(
        ArgumentError,
        match=r"(?s)sly: for these operands it gives 1 results of .* no weights; state the shapes.*test_cell_open\.py:",
    ):
        wg.sum(sly(open_shape(np.ones(3, F64)))).predict().run(EXECUTORS[executor]())


def test_a_shape_that_does_not_fit_in_the_run_is_an_error_of_the_line_inside() -> None:
    product = wg.cell(lambda x: x @ np.ones((2, 2), F64))
    with pytest.raises(ShapeError, match=r"(?s)inner dimensions 3 and 2 differ.*test_cell_open\.py:"):
        wg.sum(product(open_shape(np.ones(3, F64)))).predict().run(wg.run.Batched())


def test_derivatives_as_layers_stop_at_a_cell_of_an_open_operand() -> None:
    w = SETTINGS.array_weight(np.ones(3, F64))
    both = wg.cell(lambda x: (x * w, x))
    loss = wg.sum(both(open_shape(np.ones(3, F64)))[0])
    with pytest.raises(NotDifferentiableError, match="known only in the run"):
        _ = wg.gradients(loss, (w,)).layers
