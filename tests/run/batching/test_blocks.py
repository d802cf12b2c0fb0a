"""Examples that are kept and come again in other batches: recorded once, with the bits of a fresh recording."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.batching.trees import Layer, Tree, TreeLSTM, sequential, trees
from wengert import run
from wengert.plugins import SGD
from wengert.run.batching import grouping, traversal
from wengert.run.batching.grouping import grouped
from wengert.run.batching.region import Region, with_sums
from wengert.run.batching.traversal import NO_SUBGRAPH, region_of


def one(model: TreeLSTM, tree: Tree) -> Layer:
    """The loss of one example, which has sums, a literal of its own and one that all share."""
    h, c = model.state(tree)
    return wg.mean(wg.square(h)) + wg.sum(c * model.zero) + wg.sum(wg.tanh(h)) * 0.25


def sum_of(parts: Sequence[Layer]) -> Layer:
    return reduce(add, parts) * (1.0 / len(parts))


def stacked(parts: Sequence[Layer]) -> Layer:
    return wg.mean(wg.stack(tuple(parts)))


def in_a_cell(parts: Sequence[Layer]) -> Layer:
    @wg.cell
    def half(x: Layer, y: Layer) -> Layer:
        return (x + y) * 0.5

    return reduce(half, parts)


def made(record: Region) -> list[Any]:  # Any: numbers and values
    """All that a schedule is made of, with literals in place of the numbers that they were given."""
    names: dict[int, object] = {}
    for group in record.groups:
        for number, at in zip(group.members.tolist(), group.order.tolist(), strict=True):
            names[number] = id(group.given[at]) if group.given else number
    found: list[Any] = [record.serials[record.serials > 0].tolist()]
    for group in record.groups:
        refs = [[(names[code >> 20], code & 7) for code in row] for row in group.refs.tolist()]
        every = np.arange(len(group.members))
        columns = [group.literals_at(i, every) for i in group.form.literals]
        literals = [(shared, np.asarray(column).tolist()) for shared, column in columns]
        found.append((group.signature, group.weights, group.form, refs, literals, group.given == []))
    return found


@pytest.mark.parametrize("together", [sum_of, stacked, in_a_cell])
@pytest.mark.parametrize("seed", range(4))
def test_the_record_of_a_shuffle_is_that_of_all_its_nodes(
    seed: int, together: Callable[[Sequence[Layer]], Layer]
) -> None:
    chance = np.random.default_rng(seed)
    model = TreeLSTM()
    kept = [one(model, tree) for tree in trees(seed, 9)]
    for _ in range(4):
        some = [kept[int(i)] for i in chance.permutation(9)[: 2 + int(chance.integers(6))]]
        loss = together(some)
        by_blocks = region_of([loss], None, kept[-1].serial)
        assert not by_blocks.complete
        assert made(by_blocks) == made(region_of([loss]))
        assert by_blocks.code(loss) == region_of([loss]).code(loss)


def steps(model: TreeLSTM, executor: Callable[[], run.Batched]) -> list[bytes]:
    """Losses and weights of a few epochs of shuffled batches, as bits."""
    kept = [one(model, tree) for tree in trees(2, 12)]
    kept[-1].predict().run(executor())
    chance, found = np.random.default_rng(5), []
    for _ in range(3):
        for batch in chance.permutation(12).reshape(3, 4).tolist():
            loss = sum_of([kept[i] for i in batch])
            found.append(np.asarray(loss.train().run(executor())).tobytes())
    return [*found, *(w.data.tobytes() for w in model.weights)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_training_on_shuffles_has_the_bits_of_recording_each_anew(dtype: Any) -> None:
    batched = run.Batched()
    by_blocks = steps(TreeLSTM(dtype=dtype), lambda: batched)
    assert by_blocks == steps(TreeLSTM(dtype=dtype), run.Batched)  # which has seen nothing before


def test_a_record_dies_with_its_example() -> None:
    model, batched = TreeLSTM(), run.Batched()
    enabled = gc.isenabled()
    gc.disable()
    try:
        kept = [one(model, tree) for tree in trees(3, 4)]
        sum_of(kept[:2]).predict().run(batched)
        sum_of(kept).train().run(batched)
        found = [
            weakref.ref(x._block) for x in kept[2:]
        ]  # those that were there before a run, and have come again
        nodes = [weakref.ref(x) for x in kept]
        assert all(ref() is not None for ref in found)
        kept.clear()
        assert [ref() for ref in (*found, *nodes)] == [None] * len((*found, *nodes))
    finally:
        if enabled:
            gc.enable()


def test_a_weight_that_has_changed_is_read_anew() -> None:
    model, batched = TreeLSTM(), run.Batched()
    kept = [one(model, tree) for tree in trees(4, 6)]
    for some in (kept[:3], kept[2:], kept[1:5]):
        before = float(sum_of(some).predict().run(batched))
        sum_of(some).train().run(batched)
        again = sum_of(some)
        np.testing.assert_allclose(
            again.predict().run(batched), again.predict().run(sequential()), rtol=1e-12
        )
        assert abs(float(again.predict().run(batched)) - before) > 1e-6


def test_a_cell_that_is_defined_again_does_what_it_says_now() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.ones(3))
    batched = run.Batched()
    for factor in (1.0, 2.0, 3.0):

        @wg.cell
        def cost(x: Layer) -> Layer:
            return wg.sum(x * w) * factor

        kept = [cost(np.full(3, float(i), np.float64)) * 1.0 for i in range(4)]
        for some in ([0, 1], [1, 2, 3], [3, 0]):
            found = sum_of([kept[i] for i in some]).predict().run(batched)
            np.testing.assert_allclose(found, factor * 3.0 * np.mean(some), rtol=1e-12)


def test_what_is_inside_an_example_can_be_asked_for() -> None:
    model, batched = TreeLSTM(), run.Batched()
    states = [model.state(tree) for tree in trees(6, 5, most=6)]
    kept = [wg.sum(wg.square(h)) for h, _ in states]
    sum_of(kept[:2]).predict().run(batched)
    loss = sum_of(kept[1:])
    inside = tuple(h for h, _ in states[1:])
    expected = wg.gradients(loss, inside).run(sequential())
    for found, right in zip(wg.gradients(loss, inside).run(batched), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12)


def test_examples_that_share_a_part_compute_it_once() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.eye(3) * 0.5)
    shared = wg.tanh(wg.tanh(w @ w) @ w)
    kept = [wg.sum(wg.square(np.full(3, float(i), np.float64) @ shared)) for i in range(6)]
    batched = run.Batched()
    sum_of(kept[:2]).predict().run(batched)
    batched.report.clear()
    loss = sum_of(kept[1:])
    np.testing.assert_allclose(loss.predict().run(batched), loss.predict().run(sequential()), rtol=1e-12)
    assert sum(line.rows for line in batched.report.lines.values() if line.name == "tanh") == 2


def test_blocks_that_are_mostly_in_each_other_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traversal, "_SLACK", 20)
    w = SGD(learning_rate=0.1).array_weight(np.eye(2) * 0.5)
    h: Layer = np.ones(2)
    kept = []
    for _ in range(200):
        h = wg.tanh(h @ w)
        kept.append(wg.sum(h))
    batched = run.Batched()
    loss = sum_of(kept[::3])
    loss.predict().run(batched)
    again = sum_of(kept[::2])
    np.testing.assert_allclose(again.predict().run(batched), again.predict().run(sequential()), rtol=1e-12)
    found = [getattr(x, "_block", NO_SUBGRAPH) for x in kept]
    assert NO_SUBGRAPH in found
    assert sum(len(block.serials) for block in found) < 4 * 600  # of 40,000 that all would have


def test_an_example_that_waits_for_a_value_has_no_block() -> None:
    w = SGD(learning_rate=0.1).double_weight(0.5)

    @wg.differentiable
    async def grown(x: wg.DoubleLayer) -> wg.DoubleLayer:
        return x * w if await x > 1.0 else x + w

    kept = [wg.square(grown(w * float(i))) for i in range(5)]
    batched = run.Batched()
    for some in ([0, 1], [1, 2, 4], [4, 3, 0]):
        loss = sum_of([kept[i] for i in some])
        np.testing.assert_allclose(loss.predict().run(batched), loss.predict().run(sequential()), rtol=1e-12)
    assert all(getattr(x, "_block", NO_SUBGRAPH) is NO_SUBGRAPH for x in kept)


@pytest.mark.slow
def test_threads_may_share_examples() -> None:
    model = TreeLSTM()
    kept = [one(model, tree) for tree in trees(7, 12)]
    batches = [np.random.default_rng(i).permutation(12)[:6].tolist() for i in range(24)]
    expected = [float(sum_of([kept[i] for i in batch]).predict().run(sequential())) for batch in batches]
    batched = run.Batched()
    kept[-1].predict().run(batched)

    def value(batch: list[int]) -> float:
        return float(sum_of([kept[i] for i in batch]).predict().run(batched))

    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            np.testing.assert_allclose([*pool.map(value, batches)], expected, rtol=1e-12)


def plain(model: TreeLSTM, tree: Tree) -> Layer:
    """Nothing in it is in a circle but the cell."""
    return wg.mean(wg.square(model.state(tree)[0]))


def residual(model: TreeLSTM, tree: Tree) -> Layer:
    """Additions between calls of a cell, so that their counts depend on what is one sum."""
    h, c = model.state(tree)
    for _ in range(2 + len(str(tree)) % 3):
        k, c = model.node(h, c, h, c)
        h = h + k + c
    return wg.sum(h)


@pytest.mark.parametrize("example", [plain, one, residual])
@pytest.mark.parametrize("seed", range(3))
def test_counts_that_blocks_remember_are_those_of_all_nodes(
    seed: int, example: Callable[[TreeLSTM, Tree], Layer]
) -> None:
    model = TreeLSTM()
    kept = [example(model, tree) for tree in trees(seed, 9)]
    chance = np.random.default_rng(seed)
    for _ in range(6):
        loss = sum_of([kept[int(i)] for i in chance.permutation(9)[: 2 + int(chance.integers(6))]])
        groups = []
        for record in (region_of([loss], None, kept[-1].serial), region_of([loss])):
            with_sums(record, [record.size - 1])
            found = grouped(record)
            assert found is not None
            groups.append(found)
        np.testing.assert_array_equal(groups[0], groups[1])


def test_examples_in_other_batches_are_not_counted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cells in turn, which begin with one or the other: their groups need each other, and take turns."""
    w = SGD(learning_rate=0.1).array_weight(np.eye(2) * 0.5)
    cells = [wg.cell(lambda h: wg.tanh(h @ w)), wg.cell(lambda h: wg.sigmoid(h @ w))]

    def chain(start: int) -> Layer:
        h: Layer = w[start % 2]
        for step in range(9 - start % 3):
            h = cells[(start + step) % 2](h)
        return wg.sum(h)

    kept = [chain(start) for start in range(12)]

    def groups_of(loss: Layer, before: int) -> list[int]:
        record = region_of([loss], None, before)
        with_sums(record, [record.size - 1])
        found = grouped(record)
        assert found is not None
        return [*map(int, found)]

    groups_of(sum_of(kept), kept[-1].serial)
    batches = [sum_of([kept[i] for i in np.random.default_rng(seed).permutation(12)]) for seed in range(4)]
    every = [groups_of(loss, 0) for loss in batches]

    def refuse(*arguments: object) -> None:
        raise AssertionError("nodes were counted again")

    monkeypatch.setattr(grouping, "_Levels", refuse)
    assert [groups_of(loss, kept[-1].serial) for loss in batches] == every
    with pytest.raises(AssertionError, match="counted again"):
        groups_of(batches[0], 0)
