"""Predictions keep the rows that somebody still reads, and no others; nothing is read after it was written over."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.batching.trees import Layer, TreeLSTM, close, sequential, trees
from wengert import run
from wengert.plugins import SGD
from wengert.run.batching import schedule as scheduling
from wengert.run.batching.bound import BoundSchedule
from wengert.run.batching.cache import ScheduleCache
from wengert.run.batching.region import Region
from wengert.run.batching.schedule import FreeRows, Liveness, Read, Schedule


def scheduled(root: Any, back: bool) -> tuple[Region, Schedule]:  # Any: an expression of any data
    """What the prediction, or the training, of an expression makes."""
    cache = ScheduleCache()
    record = cache.record([root], None, 0)
    bound = cache.bound(record, [root], back)
    assert bound is not None
    return record, bound.schedule


def read_as_written(record: Region, schedule: Schedule) -> bool:
    """Whether every launch finds in its rows what it is to read, if each row remembers which result lies in it."""
    tables = [np.full(table.rows, -1) for table in schedule.tables]
    gone = [False] * len(tables)
    for step in schedule.launches:
        group = record.groups[step.group]
        order = schedule.orders[step.group]
        results = schedule.base[group.refs >> 20] + (group.refs & 0xFFFFF)
        if group.counts is None:
            columns = results[order][step.rows].T
        else:
            ends = np.cumsum(group.counts)
            several = [results[end - n : end] for n, end in zip(group.counts, ends, strict=True)]
            columns = np.concatenate([several[i] for i in order[step.rows]])[None]
        for read, expected in zip(step.reads, columns, strict=True):
            for table, row, result in zip(*rows_of(read, len(expected)), expected, strict=True):
                if gone[table] or tables[table][row] != result:
                    return False
        members = group.members[order][step.rows]
        for part, (table, first) in enumerate(step.writes):
            tables[table][first : first + step.width] = schedule.base[members] + part
        for table in step.drops:
            gone[table] = True
    return True


def rows_of(read: Read, count: int) -> tuple[list[int], list[int]]:
    """Tables and rows that a launch of so many reads."""
    if read.tables is not None:
        assert not isinstance(read.at, slice)
        return read.tables.tolist(), read.at.tolist()
    rows = [*range(read.at.start, read.at.stop)] if isinstance(read.at, slice) else read.at.tolist()
    return [read.table] * count, rows * count if read.one else rows


def tree_loss(seed: int) -> Layer:
    return TreeLSTM().loss(trees(seed, 12, most=14))


def tangle(seed: int) -> Layer:
    """Operations by themselves, in circles, with results of many readers."""
    chance = np.random.default_rng(seed)
    w = SGD(learning_rate=0.1).array_weight(np.full(3, 0.5, np.float64))
    pool: list[Layer] = [w * float(i) for i in range(4)]
    for _ in range(80):
        a, b = (pool[int(i)] for i in chance.integers(max(0, len(pool) - 20), len(pool), 2))
        pool.append([wg.sin(a), wg.cos(a), a * b, wg.tanh(b), a + b][int(chance.integers(5))])
    return wg.sum(reduce(add, pool[-12:]) * pool[-30])


def threads_of(lengths: Sequence[int]) -> Layer:
    """A chain for each length, whose states nobody reads but the next one."""
    w = SGD(learning_rate=0.1).array_weight(np.eye(16) * 0.5)

    @wg.cell
    def step(h: Layer, x: Layer) -> Layer:
        return wg.tanh(h @ w + x)

    total: Layer = 0.0
    for length in lengths:
        h: Layer = np.zeros(16)
        for i in range(length):
            h = step(h, np.full(16, float(i)))
        total = total + wg.sum(h)
    return total


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("made", [tree_loss, tangle])
def test_what_is_read_is_what_was_written(made: Callable[[int], Layer], seed: int) -> None:
    root = made(seed)
    for back in (True, False):
        assert read_as_written(*scheduled(root, back))
    close([root.predict().run(run.Batched())], [root.predict().run(sequential())])


def test_rows_that_are_given_back_too_early_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hasty(Liveness):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.free = np.maximum(self.free - 2, 0)

    monkeypatch.setattr(scheduling, "Liveness", Hasty)
    assert not all(read_as_written(*scheduled(tree_loss(seed), False)) for seed in range(3))


def rows(root: Layer, back: bool) -> int:
    """Rows of arrays that are there at the same time, at most."""
    _, schedule = scheduled(root, back)
    there: set[int] = set()
    most = 0
    for step in schedule.launches:
        there |= {table for table, _ in step.writes if schedule.tables[table].kind.shape}
        most = max(most, sum(schedule.tables[table].rows for table in there))
        there -= {*step.drops}
    return most


def test_chains_take_the_rows_of_two_levels() -> None:
    lengths = [20 + 3 * i for i in range(16)]
    root = threads_of(lengths)
    assert rows(root, back=True) >= sum(lengths)
    assert rows(root, back=False) <= 4 * len(lengths)


def test_trees_take_the_rows_that_are_still_read() -> None:
    root = TreeLSTM().loss(trees(1, 30, most=30))
    assert rows(root, back=False) < 0.75 * rows(root, back=True)
    # the widest moment: what the leaves have given, and the first level that reads it
    _, schedule = scheduled(root, False)
    leaves, level = sorted((step.width for step in schedule.launches), reverse=True)[:2]
    assert max(table.rows for table in schedule.tables) <= leaves + level


def peak(do: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        do()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def predicted(root: Layer, executor: run.Batched) -> int:
    """Bytes at the peak of a prediction that has run before."""
    for _ in range(3):
        root.predict().run(executor)
    return peak(lambda: root.predict().run(executor))


@pytest.mark.slow
def test_the_peak_of_a_prediction_does_not_grow_with_the_length(monkeypatch: pytest.MonkeyPatch) -> None:
    width, row = 32, 16 * 8
    short, long = threads_of([20] * (width - 1) + [40]), threads_of([200] * (width - 1) + [400])
    grown = predicted(long, run.Batched()) - predicted(short, run.Batched())
    rows_more = 180 * (width - 1) + 360
    assert grown < 0.2 * rows_more * row

    whole: Callable[..., BoundSchedule | None] = (
        ScheduleCache.bound
    )  # the control: with a way back, all rows are kept
    monkeypatch.setattr(ScheduleCache, "bound", lambda self, of, kept, back=True: whole(self, of, kept))
    long = threads_of([200] * (width - 1) + [400])
    assert predicted(long, run.Batched()) - predicted(short, run.Batched()) > 0.8 * rows_more * row


def test_predicting_and_training_in_turn() -> None:
    model, other = TreeLSTM(), TreeLSTM()
    examples, batched = trees(5, 8), run.Batched()
    loss, again = model.loss(examples), other.loss(examples)
    for _ in range(3):  # what predicts first has no schedule for training, and gets one
        close([loss.predict().run(batched)], [again.predict().run(sequential())])
        close([loss.train().run(batched)], [again.train().run(sequential())])
        close(
            wg.gradients(loss, model.weights).run(batched),
            wg.gradients(again, other.weights).run(sequential()),
        )
    for w, v in zip(model.weights, other.weights, strict=True):
        close([w.data], [v.data])


def test_all_that_a_prediction_asks_for_is_kept() -> None:
    model, batched = TreeLSTM(), run.Batched()
    states = [x for tree in trees(6, 9) for x in model.state(tree)]
    whole = (*states, wg.sum(states[0] * states[3]), reduce(add, states[::2]))
    for _ in range(2):
        close(wg.predict(whole).run(batched), wg.predict(whole).run(sequential()))


def test_values_that_are_waited_for_stay() -> None:
    w = SGD(learning_rate=0.1).double_weight(0.7)

    @wg.differentiable
    async def grown(x: wg.DoubleLayer) -> wg.DoubleLayer:
        h = wg.tanh(x * w)
        y = wg.tanh(h * w)
        return y + h if await y > 0.3 else y * h  # `h` is a row of the round before

    def total() -> Layer:
        return reduce(add, [grown(w * float(i)) for i in range(8)])

    close([total().predict().run(run.Batched())], [total().predict().run(sequential())])


def test_free_rows_are_given_out_and_grow_where_nothing_fits() -> None:
    chance, rows = np.random.default_rng(0), FreeRows()
    out: dict[int, int] = {}
    for _ in range(500):
        if out and chance.integers(2):
            first = [*out][int(chance.integers(len(out)))]
            rows.give(first, out.pop(first))
        else:
            count = int(chance.integers(1, 9))
            first = rows.take(count)
            taken = {row for start, several in out.items() for row in range(start, start + several)}
            assert not taken & {*range(first, first + count)}
            assert first + count <= rows.rows
            out[first] = count
    for first, count in out.items():
        rows.give(first, count)
    before = rows.rows
    assert rows.take(before) == 0
    assert rows.rows == before
