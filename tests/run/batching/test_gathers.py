"""Stacks are one read of rows, and deltas of rows that many launches repeat are summed once: as in `Sequential`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.graph.weights import Weight
from wengert.plugins import SGD
from wengert.run import Batched, Sequential
from wengert.run.batching.grouping import grouped
from wengert.run.batching.schedule import scheduled
from wengert.run.batching.traversal import region_of

Layer = wg.ArrayLayer[Any, Any]  # Any: shapes and dtypes of every kind
SETTINGS = SGD(learning_rate=0.1)


@wg.cell
def step(h: Layer, x: Layer) -> Layer:
    return wg.tanh(h + x * 0.5)


def network() -> tuple[Layer, list[Weight]]:
    """Chains that read rows of three words again and again, and stacks of them, of each other, and of constants."""
    chance = np.random.default_rng(0)
    table = SETTINGS.array_weight(chance.normal(size=(3, 4)))
    start = SETTINGS.array_weight(chance.normal(size=4))
    words = [wg.take(table, np.array(i)) for i in range(3)]
    ends: list[Layer] = []
    for length in (4, 6, 5, 6, 3, 6):
        h: Layer = start * 1.0
        for word in chance.integers(3, size=length):
            h = step(h, words[word])
        ends.append(h)
    nested = wg.stack([wg.stack(ends[i : i + 2]) for i in range(0, 6, 2)])
    mixed = wg.stack([ends[0], wg.lift(np.ones(4)), words[1]])
    turned = wg.stack(ends[:3], axis=1)
    return wg.sum(wg.square(nested)) + wg.sum(mixed * mixed) + wg.sum(turned[0] * turned[1]), [table, start]


def test_stacks_and_repeated_rows_agree_with_sequential() -> None:
    loss, weights = network()
    ours, theirs = (wg.gradients(loss, weights).run(e) for e in (Batched(), Sequential(compiled=False)))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert loss.predict().run(Batched()) == pytest.approx(loss.predict().run(Sequential()))


def test_deltas_of_words_wait_for_all_of_their_readers() -> None:
    graph = region_of([network()[0]])
    launches = grouped(graph)
    assert launches is not None
    schedule = scheduled(graph, launches)
    (waiting,) = schedule.waiting.values()
    several = [read for step in schedule.launches for read in step.reads if read.waiting]
    assert len(several) >= 3
    assert waiting[0] == sum(len(at) for read in several for _, at, _ in read.waiting)
    assert not any(read.runs for read in several)


def test_a_column_of_a_batch_is_one_launch() -> None:
    batched = Batched()
    column = wg.stack([wg.tanh(wg.lift(np.full(3, float(i), np.float64))) for i in range(40)])
    found = column.predict().run(batched)
    np.testing.assert_allclose(found[:, 0], np.tanh(np.arange(40.0)))
    (line,) = [line for line in batched.report.lines.values() if line.name == "stack"]
    assert (line.launches, line.rows, line.views) == (1, 1, 1)


def shared_rows() -> tuple[Layer, list[Layer], list[Weight]]:
    """Three states that two launches read, the first of which is behind the second one; both, and the weights."""
    chance = np.random.default_rng(1)
    a, b = (SETTINGS.array_weight(chance.normal(size=(3, 4))) for _ in range(2))
    states = [step(a[i] * 1.0, b[i] * 1.0) for i in range(3)]
    once = [step(states[i], states[2 - i]) for i in range(3)]
    twice = [step(once[i], states[(i + 1) % 3]) for i in range(3)]
    return wg.sum(wg.square(wg.stack(twice))), [*states, *once], [a, b]


def test_the_first_deltas_of_rows_are_written_and_later_ones_added() -> None:
    """Every read but the first has to add, or deltas are lost: of a row's reads the last one comes first."""
    graph = region_of([shared_rows()[0]])
    launches = grouped(graph)
    assert launches is not None
    schedule = scheduled(graph, launches)
    came: set[tuple[int, int]] = set()
    marks = []
    for launch in reversed(schedule.launches):
        for read in reversed(launch.reads):
            at = slice(0, 0) if read.to is None else read.to
            rows = range(at.start, at.stop) if isinstance(at, slice) else at.tolist()
            places = {(read.table, row) for row in rows}
            if places and not launch.alone:
                assert not read.first or (came.isdisjoint(places) and len(places) == len(rows))
                marks.append(read.first)
            came |= places
    assert marks.count(True) >= 3
    assert marks.count(False) >= 2


def test_deltas_from_outside_stay_where_the_first_of_a_launch_are_written() -> None:
    """States that a later round reads get its deltas before those of their own round."""
    chance = np.random.default_rng(2)
    w = SETTINGS.array_weight(chance.normal(size=(3, 4)))

    @wg.differentiable
    async def example(number: int) -> wg.ArrayLayer[tuple[()], np.float64]:
        state = step(w[number] * 1.0, w[number])
        after = step(state, state * 2.0)
        await wg.sum(after)
        return wg.sum(state * after)

    loss = wg.sum(wg.stack([example(i) for i in range(3)]))
    (ours,), (theirs,) = (wg.gradients(loss, [w]).run(e) for e in (Batched(), Sequential(compiled=False)))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
