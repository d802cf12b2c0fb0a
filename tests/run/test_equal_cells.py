"""Cells that do the same with the same weights are one for those who run them; what differs in anything is not."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.run.cells import F64, SETTINGS
from wengert.run.cell import Cell, _met

X = wg.lift(np.ones(3, F64))
W = SETTINGS.array_weight(np.ones(3, F64))
OTHER = SETTINGS.array_weight(np.ones(3, F64))
LARGE = np.ones((3, 100))


class Pair(NamedTuple):
    a: Any  # Any: layers
    b: Any


def shifted(x: Any) -> Any:  # Any: layers
    return x + W


def scaled(by: Any) -> Any:  # Any: a number, an array or a weight
    return wg.cell(lambda x: x * W * by)


def both(kind: Callable[[Any, Any], Any]) -> Any:  # Any: a structure of layers
    return wg.cell(lambda x: kind(x * W, x))


def signature(cell: Any, x: Any = X) -> Any:  # Any: what a call of a cell is
    node = cell(x)
    while isinstance(node, tuple):
        node = node[0]
    return node.signature if node.signature.operation.name != "part" else node.operands[0].signature


@pytest.mark.parametrize(
    "make",
    [
        lambda: wg.cell(lambda x: wg.add(W, x)),
        lambda: scaled(2.0),
        lambda: scaled(W),
        lambda: scaled(np.full(3, 2.0)),
        lambda: scaled(LARGE[:, 0]),
        lambda: both(lambda a, b: (a, b)),
        lambda: both(lambda a, b: (a, (b, a))),
    ],
)
def test_what_is_equal_is_one(make: Callable[[], Any]) -> None:
    one, other = make(), make()
    assert signature(one) is signature(other)
    batched = wg.run.Batched()
    calls = [c(wg.lift(np.full(3, n, F64))) for c in (one, other) for n in (1, 2, 3)]
    wg.predict(tuple(calls)).run(batched)
    assert [(line.launches, line.rows) for line in batched.report.lines.values()] == [(1, 6)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (scaled(2.0), scaled(3.0)),
        (scaled(0.0), scaled(-0.0)),
        (scaled(W), scaled(OTHER)),
        (scaled(np.full(3, 2.0)), scaled(np.full(3, 3.0))),
        (scaled(LARGE.T), scaled(LARGE.T)),  # too large to be compared
        (wg.cell(lambda x: wg.add(W, x)), wg.cell(lambda x: wg.multiply(W, x))),
        (wg.cell(wg.tanh), wg.cell(wg.tanh)),  # without weights
        (both(lambda a, b: (a, b)), both(lambda a, b: (b, a))),
        (both(lambda a, b: (a, (b, a))), both(lambda a, b: ((a, b), a))),
        (both(lambda a, b: (a, b)), both(Pair)),
        (both(Pair), both(Pair)),
        (wg.cell(lambda x: x * W), wg.cell(lambda x: W * x)),
        # an error in a cell names its line, so another line is another cell
        (
            wg.cell(lambda x: wg.exp(x * W)),
            wg.cell(lambda x: wg.exp(x * W)),
        ),
    ],
)
def test_what_differs_is_not_one(one: Any, other: Any) -> None:
    assert signature(one) is not signature(other)


def test_a_name_tells_nothing_apart() -> None:
    one, other = (Cell(shifted, called=name) for name in ("left", "right"))
    assert signature(one) is signature(other)


def test_kinds_are_told_apart() -> None:
    cell = wg.cell(wg.tanh)
    assert signature(cell) is not signature(cell, wg.lift(np.ones(2, F64)))
    assert signature(cell) is not signature(cell, W), "of which a delta is asked"


def test_equal_cells_are_forgotten_with_the_last_of_them() -> None:
    one, other = scaled(7.25), scaled(7.25)
    gc.collect()
    before = len(_met)
    assert signature(one) is signature(other)
    assert len(_met) == before + 1
    del one
    gc.collect()
    assert len(_met) == before + 1
    del other
    gc.collect()
    assert len(_met) == before
