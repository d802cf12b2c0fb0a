"""Cells that are given integers: words of a table, labels, positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.arrays import all_quiet
from wengert.plugins import SGD
from wengert.run.batching.kernel import BatchedKernel

from .batching.agreement import Rowwise, near

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
    launch, definition = BatchedKernel(of, shared), Rowwise(of, shared)
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


@pytest.mark.parametrize("executor", [wg.run.Sequential(), wg.run.Batched()])
def test_a_cell_gives_its_indices(executor: Any) -> None:  # Any: executors have no common type
    same = wg.cell(lambda x: x)
    assert same(np.array([1, 2])).predict().run(executor).tolist() == [1, 2]


def chosen(table: Expression, matrix: Expression) -> Callable[..., Expression]:
    """A loss of the rows and labels that scores choose themselves, one of them for each input."""

    def loss(x: Expression) -> Expression:
        scores = wg.tanh(x @ matrix)
        values, places = wg.top_k(scores, 2)
        row = wg.take(table, wg.argmax(scores))
        return wg.sum(values * wg.sum(wg.take(table, places), axis=1)) + wg.cross_entropy(
            wg.tanh(row) @ matrix, wg.argmax(scores)
        )

    return loss


INPUTS = [CHANCE.normal(size=3) for _ in range(5)]


@pytest.mark.parametrize("as_cell", [False, True])
@pytest.mark.parametrize("executor", [wg.run.Sequential(), wg.run.Batched(), wg.run.Parallel(threads=2)])
def test_computed_places_are_read_by_all_executors(
    executor: Any, as_cell: bool
) -> None:  # Any: executors have no common type
    """Beside numpy's own choice, which the derivative takes for a constant."""
    table, matrix = weights()
    loss = chosen(table, matrix)
    called = wg.cell(loss) if as_cell else loss
    total = sum((called(x) for x in INPUTS[1:]), start=called(INPUTS[0]))

    def by_hand(x: Any) -> Expression:  # Any: an array
        scores = np.tanh(x @ matrix.data)
        order = np.argsort(-scores)[:2]
        again = wg.tanh(x @ matrix)
        values = wg.take(again, order) * wg.sum(wg.take(table, order), axis=1)
        return wg.sum(values) + wg.cross_entropy(wg.tanh(table[int(order[0])]) @ matrix, int(order[0]))

    wanted = sum((by_hand(x) for x in INPUTS[1:]), start=by_hand(INPUTS[0]))
    for _ in range(3):
        for found, want in zip(
            wg.gradients(total, (table, matrix)).run(executor),
            wg.gradients(wanted, (table, matrix)).run(),
            strict=True,
        ):
            np.testing.assert_allclose(found, want, rtol=1e-10)


def test_rows_with_computed_places_are_one_launch() -> None:
    table, matrix = weights()
    batched = wg.run.Batched()
    call = wg.cell(lambda x: wg.take(table, wg.argmax(x @ matrix)))
    rows: Any = tuple(call(x) for x in INPUTS)  # Any: as many as there are
    wg.predict(rows).run(batched)
    (line,) = batched.report.lines.values()
    assert (line.launches, line.rows) == (1, len(INPUTS))


def test_integers_are_no_loss() -> None:
    places: Any = wg.argmax(np.ones(3))  # Any: refused on purpose
    with pytest.raises(
        wg.errors.NotDifferentiableError, match="train: an array of integers has no derivative"
    ):
        wg.train(places)


def test_ties_and_nan_are_chosen_as_numpy_does() -> None:
    x = np.array([[1.0, 3.0, 3.0, 2.0], [np.nan, 1.0, np.nan, 5.0]], np.float64)
    assert wg.argmax(x, axis=1).predict().run().tolist() == np.argmax(x, axis=1).tolist()
    assert wg.top_k(x, 3)[1].predict().run().tolist() == [[1, 2, 3], [0, 2, 3]]


@pytest.mark.parametrize("executor", [wg.run.Sequential(), wg.run.Batched()])
def test_computed_integers_are_compared_with_labels(
    executor: Any,
) -> None:  # Any: executors have no common type
    scores = np.array([[1.0, 2.0], [4.0, 3.0], [0.0, 1.0]], np.float64)
    labels = np.array([1, 1, 1], np.int64)
    right = wg.equal(wg.argmax(scores, axis=1), labels)
    assert right.predict().run(executor).tolist() == [True, False, True]
    assert wg.sum(right).predict().run(executor) == 2.0
    assert wg.less(labels, wg.argmax(scores, axis=1)).predict().run(executor).tolist() == [False] * 3
    assert wg.equal(labels, np.array([1, 2, 1], np.int64)).predict().run(executor).tolist() == [
        True,
        False,
        True,
    ]
    numbers: Any = scores[:, 0]  # Any: of another type, which is refused
    with pytest.raises(wg.errors.DTypeError, match="an array of int64 has no derivative"):
        wg.equal(labels, numbers)
