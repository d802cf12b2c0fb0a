"""Cells for examples of unlike sizes, which run together: the values and derivatives are those of each by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import run
from wengert.arrays.segments import RowSegments, RowSums
from wengert.plugins import SGD
from wengert.run.batching import cache
from wengert.run.batching.ragged import sized_cell
from wengert.run.batching.schedule import scheduled

SETTINGS = SGD(learning_rate=0.1)
SIZES = (3, 5, 4, 3, 7)
Example = tuple[Any, ...]  # Any: arrays
Cell = Callable[..., Any]  # Any: a layer


class Weights:
    """Those that the cells read."""

    def __init__(self) -> None:
        chance = np.random.default_rng(0)
        made: Iterator[Any] = (  # Any: weights of every shape
            SETTINGS.array_weight(chance.normal(size=shape))
            for shape in ((2, 4), (4, 4), (4,), (6, 2), (4, 3))
        )
        self.first, self.own, self.bias, self.table, self.last = made

    def all(self) -> tuple[Any, ...]:  # Any: weights
        return self.first, self.own, self.bias, self.table, self.last


def examples() -> Iterator[Example]:
    """Graphs of unlike sizes: vectors of nodes, both ends of edges, labels, one number, one marked node."""
    chance = np.random.default_rng(1)
    for n in SIZES:
        edges = n + 2
        ends = chance.integers(-n, n, size=(2, edges))
        yield (
            chance.normal(size=(n, 2)),
            *ends,
            chance.integers(3, size=n),
            chance.normal(size=()),
            np.array(chance.integers(n)),
        )


def rounds(w: Weights, x: Any, start: Any, end: Any) -> Any:  # Any: layers and integers
    h = wg.tanh(x @ w.first + w.bias)
    for _ in range(2):
        h = wg.relu(h @ w.own + wg.segment_sum(wg.take(h, start), end, num_segments=x.shape[0]))
    return h


def losses(w: Weights, x: Any, start: Any, end: Any, labels: Any, number: Any, marked: Any) -> Any:
    return wg.cross_entropy(rounds(w, x, start, end) @ w.last, labels) * number


def sums_and_means(w: Weights, x: Any, start: Any, end: Any, labels: Any, number: Any, marked: Any) -> Any:
    h = rounds(w, x, start, end)
    return wg.sum(wg.mean(h, axis=0) * wg.sum(h, axis=0)) + wg.mean(h) + wg.sum(wg.sum(h * h, axis=1))


def numbers_of_examples(
    w: Weights, x: Any, start: Any, end: Any, labels: Any, number: Any, marked: Any
) -> Any:
    h = rounds(w, x, start, end)
    read = wg.mean(h, axis=0) * number
    return wg.sum(wg.log_softmax(h * number + read, axis=1)) + wg.sum(read @ w.last)


def rows_of_a_table(w: Weights, x: Any, start: Any, end: Any, labels: Any, number: Any, marked: Any) -> Any:
    h = wg.concat((x, wg.take(w.table, labels)), axis=1)
    return wg.sum(wg.cross_entropy(h, labels, reduction="sum")) + wg.sum(
        wg.where(wg.greater(h, 0.0), h, h * 0.1)
    )


def marked_rows(w: Weights, x: Any, start: Any, end: Any, labels: Any, number: Any, marked: Any) -> Any:
    return wg.cross_entropy(wg.take(rounds(w, x, start, end), marked) @ w.last, np.array(1))


def single_rows_and_slices(
    w: Weights, x: Any, start: Any, end: Any, labels: Any, number: Any, marked: Any
) -> Any:
    h = rounds(w, x, start, end)
    steps = h[1:] - h[:-1]
    return (
        wg.sum(h[0] * h[-1])
        + wg.sum(steps * steps)
        + wg.sum(h[::2, 1:3]) * number
        + wg.sum(h[-2, 0] * h[:, 1])
    )


def softmax_over_nodes(
    w: Weights, x: Any, start: Any, end: Any, labels: Any, number: Any, marked: Any
) -> Any:
    h = rounds(w, x, start, end) * 3.0
    return wg.sum(wg.softmax(h, axis=0) * h) - wg.mean(wg.log_softmax(h, axis=-2) * h)


def over_nodes(w: Weights, x: Any, start: Any, end: Any, labels: Any, number: Any, marked: Any) -> Any:
    h = rounds(w, x, start, end)
    return wg.sum(wg.cumulative_sum(h, axis=0) * h)


JOINED = (
    losses,
    sums_and_means,
    numbers_of_examples,
    rows_of_a_table,
    marked_rows,
    single_rows_and_slices,
    softmax_over_nodes,
)


def answered(of: Cell, executor: Any) -> tuple[Any, ...]:  # Any: an executor, arrays
    w = Weights()
    cell = wg.cell(lambda *given: of(w, *given))
    losses_of_all = [cell(*example) for example in examples()]
    total = losses_of_all[0]
    for loss in losses_of_all[1:]:
        total = total + loss
    predicted = [x.predict().run(executor) for x in losses_of_all]
    return total.predict().run(executor), *predicted, *wg.gradients(total, w.all()).run(executor)


@pytest.mark.parametrize("of", [*JOINED, over_nodes], ids=lambda of: of.__name__)
def test_values_and_derivatives_are_those_of_each_example(of: Cell) -> None:
    batched = run.Batched()
    for right, ours in zip(answered(of, run.Sequential()), answered(of, batched), strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("of", JOINED, ids=lambda of: of.__name__)
def test_all_sizes_are_one_launch(of: Cell) -> None:
    w, batched = Weights(), run.Batched()
    cell = wg.cell(lambda *given: of(w, *given))
    wg.mean(wg.stack([cell(*example) for example in examples()])).train().run(batched)
    (line,) = [
        line for line in str(batched.report).splitlines() if "weight (4, 4)" in line or "lambda" in line
    ][:1]
    assert [int(word) for word in line.split()[-7:-5]] == [1, len(SIZES)]


def test_what_has_no_rule_goes_by_size() -> None:
    w = Weights()
    cell = wg.cell(lambda *given: over_nodes(w, *given))
    assert sized_cell(cell(*next(examples())).signature) is None


def test_results_with_rows_and_operands_that_were_computed() -> None:
    def trained(executor: Any) -> list[Any]:  # Any: an executor, arrays
        w = Weights()
        encode = wg.cell(lambda x: wg.tanh(x @ w.first))
        scores = wg.cell(
            lambda h, end: wg.segment_sum(wg.take(h, end), end, num_segments=h.shape[0]) @ w.last
        )
        total: Any = 0.0
        for x, _, end, labels, *_ in examples():
            total = total + wg.cross_entropy(scores(encode(x), end % len(x)), labels)
        return [total.predict().run(executor), *wg.gradients(total, (w.first, w.last)).run(executor)]

    for right, ours in zip(trained(run.Sequential()), trained(run.Batched()), strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-12, atol=1e-12)


def test_cells_that_return_tuples_are_one_launch() -> None:
    """Results with rows, and one for each example; a delta may come to some of them only."""

    def trained(executor: Any) -> list[Any]:  # Any: an executor, arrays
        w = Weights()

        def both(x: Any, end: Any) -> Any:  # Any: layers
            h = wg.tanh(x @ w.first)
            return (
                h,
                wg.sum(wg.softmax(h @ w.last, axis=0), axis=0),
                wg.segment_sum(h, end, num_segments=x.shape[0]),
            )

        encode, read = wg.cell(both), wg.cell(lambda h, y: wg.sum(h * y))
        total: Any = 0.0
        for x, _, end, _labels, *_ in examples():
            h, at, sums = encode(x, (end % len(x))[: len(x)])
            total = total + wg.cross_entropy(at, np.array(1)) + read(h, h if len(x) > 4 else sums)
        return [total.predict().run(executor), *wg.gradients(total, (w.first, w.last)).run(executor)]

    batched = run.Batched()
    for right, ours in zip(trained(run.Sequential()), trained(batched), strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-12, atol=1e-12)
    lines = [line for line in batched.report.lines.values() if line.name.endswith("both")]
    assert sum(line.launches for line in lines) == 2  # one forward in each of the two runs
    assert {line.rows // line.launches for line in lines if line.launches} == {len(SIZES)}


def test_one_family_serves_batches_whose_tables_are_alike_long_in_other_ways() -> None:
    """Nodes and edges differ, are as many, or are one each: the axes that a program has are those of its batch."""
    w, batched = Weights(), run.Batched()
    cell = wg.cell(lambda x, start, end: wg.sum(rounds(w, x, start, end)))
    chance = np.random.default_rng(3)
    batches = [
        ((3, 5), (4, 6)),
        ((3, 3), (5, 5)),
        ((1, 2), (1, 1)),
        ((2, 7), (6, 1)),
        ((3, 5), (4, 6), (2, 2)),
    ]
    for sizes in batches:
        given = [(chance.normal(size=(n, 2)), *chance.integers(n, size=(2, m))) for n, m in sizes]
        total = wg.sum(wg.stack([cell(*each) for each in given]))
        slopes = wg.gradients(total, (w.first, w.own))
        right, ours = ([total.predict().run(by), *slopes.run(by)] for by in (run.Sequential(), batched))
        for a, b in zip(right, ours, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-12)


def test_shuffled_examples_have_the_schedule_of_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples that are kept, as an epoch has them: each reads no other, so that only the order of reads differs."""
    w, batched, made = Weights(), run.Batched(), []

    def counted(*given: Any) -> Any:  # Any: those of `scheduled`
        made.append(given)
        return scheduled(*given)

    monkeypatch.setattr(cache, "scheduled", counted)
    cell = wg.cell(lambda *given: losses(w, *given))
    kept = [cell(*example) for example in examples()]
    right = [x.predict().run(run.Sequential()) for x in kept]
    for order in ((0, 1, 2, 3, 4), (3, 1, 4, 0, 2), (4, 3, 2, 1, 0)):
        total = wg.stack([kept[i] for i in order]) * 2.0
        found = total.predict().run(batched)
        np.testing.assert_allclose(found, [2.0 * right[i] for i in order], rtol=1e-12)
        right_total, (delta,) = 2.0 * sum(right), wg.gradients(wg.sum(total), (w.own,)).run(run.Sequential())
        np.testing.assert_allclose(wg.sum(total).predict().run(batched), right_total, rtol=1e-12)
        (ours,) = wg.gradients(wg.sum(total), (w.own,)).run(batched)
        np.testing.assert_allclose(ours, delta, rtol=1e-12, atol=1e-12)
    assert len(made) == 3  # of the column, of its sum, and of that with its way back


def test_an_index_outside_of_its_example_is_an_error_and_no_row_of_another_one() -> None:
    pick = wg.cell(lambda x, at: wg.sum(wg.take(x, at)))
    given = [(np.ones((2, 3)), np.array([0, 1, 1])), (np.ones((4, 3)), np.array([5]))]
    with pytest.raises(IndexError):
        wg.stack([pick(x, at) for x, at in given]).predict().run(run.Batched())


@pytest.mark.parametrize("first", [True, False])
def test_results_of_any_size_beside_those_of_one_size(first: bool) -> None:
    """An operation on both reads them from one table."""

    def asked(executor: Any) -> list[Any]:  # Any: an executor, arrays
        w, chance = Weights(), np.random.default_rng(4)
        encode, other = (wg.cell(lambda x, c=c: wg.tanh(x @ w.first) * c) for c in (1.0, 2.0))
        short, long = (chance.normal(size=(n, 2)) for n in (3, 5))
        made = [encode(short), encode(long)]
        made = [other(short), *made] if first else [*made, other(short)]
        total = wg.sum(wg.stack([wg.sum(wg.square(x)) for x in made]))
        return [total.predict().run(executor), *wg.gradients(total, (w.first,)).run(executor)]

    batched = run.Batched()
    for right, ours in zip(asked(run.Sequential()), asked(batched), strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-12)
    assert "one by one" not in str(batched.report)


def test_examples_of_a_family_that_wait_for_each_other() -> None:
    """Each is alone in its launch, and what it gives is a number, which has no rows."""

    def asked(executor: Any) -> list[Any]:  # Any: an executor, arrays
        w, scale = Weights(), SETTINGS.double_weight(2.0)
        cell = wg.cell(lambda x: wg.sum(wg.tanh(x @ w.first)))
        first, second = (wg.lift(np.full((n, 2), 0.3, np.float64)) * scale for n in (1, 2))
        read = cell(first)
        last = cell(second * read)
        total = wg.square(last) + wg.exp(read)
        slopes = wg.gradients(total, (w.first, scale, read, last))
        return [*wg.predict((read, last)).run(executor), *slopes.run(executor)]

    for right, ours in zip(asked(run.Sequential()), asked(run.Batched()), strict=True):
        assert type(ours) is type(right)
        np.testing.assert_allclose(ours, right, rtol=1e-12)


def test_one_row_that_is_added_to_many_is_no_table_of_rows() -> None:
    """Of an example with one row it could be: a family of that one has no rule for the others."""
    w, batched = Weights(), run.Batched()
    add = wg.cell(lambda x, state: wg.sum((x + state) @ w.first))
    state = np.ones((1, 2))
    values = [add(np.full((n, 2), 0.5), state) for n in (1, 3, 3, 4, 1)]
    right, ours = (wg.stack(values).predict().run(by) for by in (run.Sequential(), batched))
    np.testing.assert_allclose(ours, right, rtol=1e-12)
    assert "one by one" not in str(batched.report)


def test_families_do_not_confuse_constants() -> None:
    """Two functions that differ in a number, and two sizes of each."""
    cells = [wg.cell(lambda x, c=c: wg.sum(x * c)) for c in (2.0, 3.0)]
    found = wg.stack([cell(np.ones((n, 2))) for n in (1, 2) for cell in cells]).predict().run(run.Batched())
    assert found.tolist() == [4.0, 6.0, 8.0, 12.0]


def test_families_do_not_confuse_zeros_of_both_signs() -> None:
    """Equal attributes, which an attribute's value alone does not tell apart."""
    w = Weights()

    def bent(x: Any, slope: float) -> Any:
        return wg.sum(1.0 / wg.leaky_relu(-wg.abs(x @ w.first), negative_slope=slope))

    cells = [wg.cell(lambda x, c=c: bent(x, c)) for c in (0.0, -0.0)]
    found = wg.stack([cell(np.ones((n, 2))) for n in (1, 2) for cell in cells]).predict().run(run.Batched())
    assert found.tolist() == [-np.inf, np.inf, -np.inf, np.inf]


def test_sums_of_rows_have_as_many_rounds_as_the_longest_has_rows() -> None:
    chance = np.random.default_rng(2)
    for rows, sums in ((20, 7), (200, 2), (0, 3), (5, 1)):
        numbers, table = chance.integers(sums, size=rows), chance.normal(size=(rows, 3))
        right = np.zeros((sums, 3))
        np.add.at(right, numbers, table)
        np.testing.assert_allclose(RowSums(numbers, sums).of(table), right)


def test_moved_indices_stay_in_their_segment() -> None:
    two = RowSegments((2, 3))
    with pytest.raises(IndexError, match="outside of the rows of its example"):
        two.moved(np.array([2]), np.array([0]))
