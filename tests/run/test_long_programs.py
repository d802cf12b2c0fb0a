"""A program is not made for what Python would take gigabytes to compile; cells count as what they do."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import wengert as wg
from tests.run.planned import eager, plain
from wengert.graph.order import below
from wengert.plugins import SGD
from wengert.run.compiled import plans as plans_module
from wengert.run.compiled import segment

W = SGD(learning_rate=0.1).array_weight(np.full(3, 0.5, np.float64))


@wg.cell
def inner(x: Any) -> Any:
    return wg.tanh(wg.sin(x) * W)  # 3


@wg.cell
def outer(x: Any) -> Any:
    return inner(inner(x)) + x  # 3, and 2 times what is in the inner one


def loss(cells: int) -> Any:
    x: Any = wg.lift(np.ones(3))
    for _ in range(cells):
        x = outer(x)
    return wg.sum(x)


@pytest.mark.parametrize(("most", "short"), [(1 + 1 + 4 * (1 + 3 + 6), True), (1 + 4 * (1 + 3 + 6), False)])
def test_a_cell_is_as_long_as_what_it_does(most: int, short: bool) -> None:
    nodes, _ = below(loss(4), ())
    with patch.object(segment, "MOST", most):
        assert (segment.operations(nodes) <= segment.MOST) is short


@pytest.mark.parametrize(("most", "plans"), [(1_000, True), (30, False)])
def test_what_is_too_long_stays_with_the_interpreter(most: int, plans: bool) -> None:
    executor, made = eager(worth=2)
    kept = loss(4)
    with patch.object(plans_module, "MOST", most):
        found = [kept.predict().run(executor) for _ in range(6)]
    assert found == [kept.predict().run(plain())] * 6
    assert bool(made.made) is plans
