"""Cells that are given integers: words of a table, labels, positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.arrays import all_quiet
from wengert.plugins import SGD
from wengert.run.batching.launch import Launch, Rowwise

from .batching.agreement import near

CHANCE = np.random.default_rng(0)
Expression = Any  # of any type


def weights() -> tuple[Any, Any]:  # Any: array weights
    """A table of words, and a matrix from words to classes."""
    settings = SGD(learning_rate=0.1)
    return (
        settings.array_weight(np.linspace(-1, 1, 15).reshape(5, 3)),
        settings.array_weight(np.linspace(0.5, -1, 12).reshape(3, 4)),
    )


def classified(table: Expression, matrix: Expression) -> Callable[..., Expression]:
    """The loss of a word and its label, as a function of expressions."""

    def loss(word: Expression, label: Expression, at: Expression) -> Expression:
        h = wg.tanh(wg.take(table, word) + table[at])
        return wg.cross_entropy(h @ matrix, label)

    return loss


def calls(loss: Callable[..., Expression]) -> Expression:
    """The loss of three words."""
    total: Expression = 0.0
    for word, label, at in ((2, 3, 0), (4, 0, 1), (2, 1, 2)):
        total = total + loss(np.array(word), np.array(label), np.array(at))
    return total


@pytest.mark.parametrize("executor", [wg.run.Sequential(compiled=False), wg.run.Sequential()])
def test_a_cell_is_the_function(executor: Any) -> None:  # Any: executors have no common type
    plain, as_cell = weights(), weights()
    one, other = classified(*plain), wg.cell(classified(*as_cell))
    for _ in range(40):  # a plan among them
        expected, found = calls(one).train().run(executor), calls(other).train().run(executor)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    for a, b in zip(plain, as_cell, strict=True):
        np.testing.assert_allclose(a.data, b.data, rtol=1e-10)


def test_one_template_serves_all_indices() -> None:
    made = []

    @wg.cell
    def word(index: Expression) -> Expression:
        made.append(index)
        return wg.take(TABLE, index)

    for i in range(5):
        np.testing.assert_array_equal(word(np.array(i)).predict().run(), TABLE.data[i])
    assert len(made) == 1


TABLE: Any = weights()[0]


def test_take_along_axis_takes_indices_too() -> None:
    @wg.cell
    def along(x: Expression, index: Expression) -> Expression:
        return wg.take_along_axis(x, index, axis=0)

    index = np.array([[1, 0, 2], [4, 3, 0]])
    np.testing.assert_array_equal(
        along(TABLE, index).predict().run(), np.take_along_axis(TABLE.data, index, axis=0)
    )


@pytest.mark.parametrize("executor", [wg.run.Sequential(compiled=False), wg.run.Sequential()])
def test_a_label_that_is_no_class_is_found_in_every_run(executor: Any) -> None:  # Any: as above
    table, matrix = weights()
    loss = wg.cell(classified(table, matrix))
    for _ in range(40):
        loss(np.array(1), np.array(3), np.array(0)).train().run(executor)
    with pytest.raises(IndexError, match="labels are 0 to 3; got 4 to 4"):
        loss(np.array(1), np.array(4), np.array(0)).train().run(executor)
    with pytest.raises(IndexError, match="got -1 to -1"):
        loss(np.array(1), np.array(-1), np.array(0)).train().run(executor)


def test_many_rows_of_words_and_labels() -> None:
    table, matrix = weights()
    node = wg.cell(classified(table, matrix))(np.array(1), np.array(3), np.array(0))
    of = node.signature
    data = [w.ref.data for w in of.template.captured]
    shared = (False, False, False, *(True,) * len(data))
    launch, definition = Launch(of, shared), Rowwise(of, shared)
    for rows in (1, 2, 7):
        given = [CHANCE.integers(0, n, rows) for n in (5, 4, 5)] + data
        g = CHANCE.uniform(0.5, 1.5, rows)
        with all_quiet():
            (y,), kept = launch.forward(rows, given)
            (z,), own = definition.forward(rows, given)
            near(y, z)
            sent, expected = launch.backward(rows, kept, [g]), definition.backward(rows, own, [g])
        assert sent[:3] == expected[:3] == [None] * 3
        for a, b in zip(sent[3:], expected[3:], strict=True):
            near(wg.extend.dense(a), wg.extend.dense(b))
    assert launch.reason is None
    wrong = [np.zeros(2, int), np.array([3, 4]), np.zeros(2, int), *data]
    with pytest.raises(IndexError, match="labels are 0 to 3"):
        launch.forward(2, wrong)


def test_indices_are_no_layers_elsewhere() -> None:
    integers: Any = np.array([1, 2])  # Any: refused by checkers, too
    with pytest.raises(
        wg.errors.DTypeError, match=r"lift: an array of int64 .*; use float32.*\n  at .*test_cell"
    ):
        wg.lift(integers)
    with pytest.raises(
        wg.errors.ArgumentError, match=r"same returned .*int64.*; a cell returns .*\n  at .*test_cell"
    ):
        same(integers)


@wg.cell
def same(x: Any) -> Any:  # Any: integers, which are refused
    return x
