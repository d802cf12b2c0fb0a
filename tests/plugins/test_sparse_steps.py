"""Adagrad of a table of which few rows were taken: the steps of those rows only, with the bits of all."""

from __future__ import annotations

import tracemalloc
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import run
from wengert.plugins import SGD, Adagrad, LearningRate

PLAIN = run.Sequential(compiled=False)


class Settings(Adagrad, LearningRate):
    pass


def trained(keys: list[Any], dense: bool, eps: float = 1e-8) -> tuple[Any, Any]:
    """The table and its squares after a step a key."""
    table = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    w = Settings(learning_rate=0.5, eps=eps).array_weight(table)
    for i, key in enumerate(keys):
        taken = wg.take(w, np.array(key), axis=0)
        loss = wg.sum(wg.square(taken) * float(i + 1))
        if dense:  # a dense summand of 0 makes the delta an array
            loss = loss + wg.sum(w * 0.0)
        loss.train().run(PLAIN)
    return w.data, squares(w)


def squares(w: Any) -> Any:  # Any: a weight of these settings, and its optimizer's array
    return w.optimizer.squares


@pytest.mark.parametrize(
    "keys", [[[3, 1, 3], [3, -1]], [[0], [0, 0, 0, 7], [39, -1]], [[[1, 2], [2, 1]], [5]]]
)
def test_rows_that_were_taken_step_as_in_the_whole(keys: list[Any]) -> None:
    few, whole = trained(keys, dense=False), trained(keys, dense=True)
    for a, b in zip(few, whole, strict=True):
        assert a.tobytes() == b.tobytes()


def test_the_other_rows_are_not_even_looked_at() -> None:
    w = Settings(learning_rate=0.5).array_weight(np.ones((40, 3), np.float32))
    loss = wg.sum(wg.take(w, np.array([1, 4]), axis=0))
    loss.train().run(PLAIN)
    squares(w)[20] = np.nan
    loss.train().run(PLAIN)
    assert np.isfinite(w.data).all()


def test_without_eps_and_of_many_rows_all_of_it_is_done() -> None:
    w = Settings(learning_rate=0.5, eps=0.0).array_weight(np.ones((40, 3), np.float32))
    for _ in range(2):
        wg.sum(wg.take(w, np.array([1]), axis=0)).train().run(PLAIN)
    assert np.isnan(w.data).any()  # 0 / 0, as the formula has it
    many = trained([list(range(30)), list(range(30))], dense=False)
    for a, b in zip(many, trained([list(range(30)), list(range(30))], dense=True), strict=True):
        assert a.tobytes() == b.tobytes()


def rows_of(w: Any) -> Any:  # Any: a weight, and a loss of two of its rows
    return wg.sum(wg.square(wg.take(w, np.array([1, 4]), axis=0)))


def begun() -> tuple[Any, Any]:
    """A weight after its first step, and a loss."""
    w = Settings(learning_rate=0.5).array_weight(np.ones((40, 3), np.float32))
    loss = rows_of(w)
    loss.train().run(PLAIN)
    return w, loss


def test_squares_that_nobody_else_has_stay_in_their_place() -> None:
    w, loss = begun()
    place = squares(w).ctypes.data
    for _ in range(3):
        loss.train().run(PLAIN)
    assert squares(w).ctypes.data == place


@pytest.mark.parametrize(
    "hold", [squares, lambda w: squares(w)[1:5], lambda w: w.optimizer, lambda w: memoryview(squares(w))]
)
def test_squares_that_somebody_has_stay_as_they_are(hold: Any) -> None:  # Any: what is held
    w, loss = begun()
    held = [hold(w)]

    def seen() -> bytes:
        return np.array(getattr(held[0], "squares", held[0])).tobytes()

    before, plain = seen(), begun()
    for _ in range(2):
        loss.train().run(PLAIN)
        plain[1].train().run(PLAIN)
        assert seen() == before
    assert squares(w).tobytes() == squares(plain[0]).tobytes() != before
    held.clear()
    place = squares(w).ctypes.data
    loss.train().run(PLAIN)
    assert squares(w).ctypes.data == place


def test_an_optimizer_of_two_steps_ago_has_its_own_squares() -> None:
    w, loss = begun()
    held = [(w.optimizer, squares(w).tobytes())]
    for _ in range(4):
        loss.train().run(PLAIN)
        held.append((w.optimizer, squares(w).tobytes()))
    assert [optimizer.squares.tobytes() for optimizer, _ in held] == [then for _, then in held]


def test_a_step_that_is_thrown_away_leaves_the_squares() -> None:
    w = Settings(learning_rate=0.5).array_weight(np.ones((40, 3), np.float32))
    other = Settings(learning_rate=0.5).array_weight(np.ones(3, np.float32))
    row = wg.take(w, np.array([1]), axis=0)
    wg.sum(row * other).train().run(PLAIN)
    before, state = w.data, squares(w).copy()
    vars(other.optimizer)["step"] = _fails
    with pytest.raises(ValueError, match="refused"):
        wg.sum(row * other).train().run(PLAIN)
    assert w.data.tobytes() == before.tobytes()
    assert squares(w).tobytes() == state.tobytes()


def _fails(delta: object, weight: object) -> object:
    raise ValueError("refused")


def words(executor: Any, keys: list[Any], dense: bool = False, settings: Any = None) -> Any:
    """A table read once at each of some keys, as by the leaves of a tree, after some steps."""
    w = (settings or Settings(learning_rate=0.5)).array_weight(np.random.default_rng(0).normal(size=(60, 3)))
    steps = 14
    for step in range(steps):
        read = [w[key] if type(key) is int else wg.take(w, np.array(key), axis=0) for key in keys]
        leaves = [wg.sum(wg.square(rows)) for rows in read]
        loss = reduce(add, leaves) * float(step + 1)
        if dense:
            loss = loss + wg.sum(w * 0.0)
        loss.train().run(executor)
    return w


KEYS = [[3, 1, 3, -1], [[3, 4], [3], [[0, -1]]], [2, [2], np.int32(5)]]


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("executor", [PLAIN, run.Sequential(), run.Batched()])
def test_rows_that_are_read_one_by_one_step_as_in_the_whole(executor: Any, keys: list[Any]) -> None:
    few, whole = words(executor, keys), words(PLAIN, keys, dense=True)
    assert few.data.tobytes() == whole.data.tobytes()
    assert squares(few).tobytes() == squares(whole).tobytes()


@pytest.mark.parametrize("keys", KEYS)
def test_rows_that_are_read_one_by_one_are_subtracted_in_their_order(keys: list[Any]) -> None:
    plain, planned = (words(executor, keys, settings=SGD(learning_rate=0.1)) for executor in (PLAIN, None))
    assert plain.data.tobytes() == planned.data.tobytes()


@pytest.mark.parametrize("executor", [PLAIN, run.Sequential(), run.Batched()])
def test_a_large_table_costs_the_rows_that_are_read(executor: Any) -> None:
    """Each leaf of a tree took zeros of the table's size, in a plan, too: 20 of 18,278 words 20 ms a step."""
    w = Settings(learning_rate=0.5).array_weight(np.zeros((20_000, 50)))

    def step() -> None:
        leaves = [wg.sum(wg.square(wg.take(w, np.array(i), axis=0) + 1.0)) for i in range(10)]
        reduce(add, leaves).train().run(executor)

    for _ in range(14):
        step()
    tracemalloc.start()
    try:
        step()
        assert tracemalloc.get_traced_memory()[1] < w.data.nbytes / 10
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("rows", [(0,), (2, 0)])
def test_no_rows_of_no_columns_are_read_twice(rows: tuple[int, ...]) -> None:
    w = SGD(learning_rate=0.1).array_weight(np.zeros((0, 0)))
    taken = [wg.sum(wg.take(w, np.zeros(rows, np.int64), axis=0)) for _ in range(2)]
    assert wg.gradients(taken[0] + taken[1], (w,)).run()[0].shape == (0, 0)
