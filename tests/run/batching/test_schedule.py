"""Schedules: as few launches as the longest chains allow, no copies up the levels, circles split, and the report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.batching.trees import Layer, TreeLSTM, close, grown, sequential, trees
from wengert import run
from wengert.plugins import SGD
from wengert.run.batching import cache as schedules
from wengert.run.batching.grouping import grouped
from wengert.run.batching.traversal import region_of
from wengert.run.compiled import cache


@wg.cell
def plus(a: Layer, b: Layer) -> Layer:
    return a * 1.0 + b


def line(batched: run.Batched, name: str) -> tuple[int, int]:
    """Launches and rows of one operation."""
    found = [one for one in batched.report.lines.values() if one.name.endswith(name)]
    return sum(one.launches for one in found), sum(one.rows for one in found)


def test_pair_sums_are_three_launches_and_nothing_is_copied_up() -> None:
    """F.47: (p0 + p1) + p2 of three pair sums."""
    w = SGD(learning_rate=0.1).array_weight(np.ones(2))
    leaves = [wg.tanh(w * float(i)) for i in range(6)]
    p = [plus(leaves[2 * i], leaves[2 * i + 1]) for i in range(3)]
    batched = run.Batched()
    plus(plus(p[0], p[1]), p[2]).predict().run(batched)
    assert line(batched, "plus") == (3, 5)
    assert sum(one.rows for one in batched.report.lines.values()) == 5 + 6 + 6


def depth(tree: Any) -> int:  # Any: a nested tuple
    return 0 if isinstance(tree, int) else 1 + max(map(depth, tree))


def test_launches_are_as_many_as_the_longest_chain() -> None:
    model, batched = TreeLSTM(), run.Batched()
    examples = trees(4, 12, most=20)
    model.loss(examples).predict().run(batched)
    launches, rows = line(batched, "node")
    assert launches == max(map(depth, examples))
    assert rows == sum(str(tree).count("(") for tree in examples)


def test_unequal_chains_share_their_launches() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.eye(3))
    total: Layer = 0.0
    for length in (3, 7, 5, 1):
        x: Layer = np.ones(3)
        for _ in range(length):
            x = wg.tanh(x @ w)
        total = total + wg.sum(x)
    batched = run.Batched()
    total.predict().run(batched)
    assert line(batched, "matmul") == (7, 16)
    assert line(batched, "sum of additions")[0] == 1


def test_groups_in_a_circle_are_split_by_depth_and_only_they() -> None:
    w = SGD(learning_rate=0.1).double_weight(0.5)
    a = wg.sin(wg.cos(w * 1.0))  # sin after cos
    b = wg.cos(wg.sin(w * 2.0))  # cos after sin: the two groups need each other
    c = wg.exp(w * 3.0) + wg.exp(w * 4.0)
    loss = a + b + c
    batched = run.Batched()
    close([loss.predict().run(batched)], [loss.predict().run(sequential())])
    close(wg.gradients(loss, (w,)).run(batched), wg.gradients(loss, (w,)).run(sequential()))
    assert line(batched, "exp") == (2, 4)  # in each of the two runs forward one launch of two rows


def test_a_circle_of_three() -> None:
    w = SGD(learning_rate=0.1).double_weight(0.5)
    f, g, h = wg.sin, wg.cos, wg.tanh
    parts = [f(g(h(w * 1.0))), g(h(f(w * 2.0))), h(f(g(w * 3.0))), f(f(g(w * 4.0)))]
    loss = parts[0] * parts[1] + parts[2] * parts[3]
    close(wg.gradients(loss, (w,)).run(run.Batched()), wg.gradients(loss, (w,)).run(sequential()))


def test_many_losses_are_one_sum_however_they_are_added() -> None:
    w = SGD(learning_rate=0.1).double_weight(0.5)
    parts = [wg.square(w * float(i)) for i in range(33)]
    chain: Layer = 0.0
    for x in parts:
        chain = chain + x
    tree = list(parts)
    while len(tree) > 1:
        tree = [a + b for a, b in zip(tree[::2], tree[1::2], strict=False)] + tree[len(tree) // 2 * 2 :]
    for loss in (chain, tree[0]):
        batched = run.Batched()
        close(wg.gradients(loss, (w,)).run(batched), wg.gradients(loss, (w,)).run(sequential()))
        assert line(batched, "sum of additions")[0] == 1
        assert batched.report.launches <= 5


def test_a_start_state_of_zeros_does_not_split_a_chain() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.eye(2))

    @wg.cell
    def step(h: Layer, x: Layer) -> Layer:
        return wg.tanh(h @ w + x)

    total: Layer = 0.0
    for length in (2, 4):
        h: Layer = np.zeros(2)
        for i in range(length):
            h = step(h, np.full(2, float(i), np.float64))
        total = total + wg.sum(h)
    batched = run.Batched()
    close(wg.gradients(total, (w,)).run(batched), wg.gradients(total, (w,)).run(sequential()))
    assert line(batched, "step") == (4, 6)


def test_the_report_says_what_ran_how_wide_and_what_did_not() -> None:
    def rule(case: Any, x: Any) -> Any:  # Any: rules take data of every type
        return x * 2.0

    from tests.run.counting import unregistered

    doubled = unregistered("doubled", rule, lambda case, g, y, x: g * 2.0)
    w = SGD(learning_rate=0.1).array_weight(np.ones(2))
    total: Layer = 0.0
    for i in range(5):
        total = total + wg.sum(doubled(wg.tanh(w * float(i))))
    batched = run.Batched()
    total.predict().run(batched)
    text = str(batched.report)
    (tanh,) = [row for row in text.splitlines() if row.startswith("tanh((2,) float64)")]
    assert tanh.split()[2:5] == ["1", "5", "5.0"]
    (alone,) = batched.report.unbatched.values()
    assert alone.name.endswith("doubled") and alone.count == 5 and alone.site.startswith(__file__)
    assert f"5 x {alone.name}: {alone.reason}, built at {__file__}" in text
    batched.report.clear()
    assert batched.report.launches == 0


def shape(tree: Any) -> Any:  # Any: a nested tuple
    return 0 if isinstance(tree, int) else tuple(map(shape, tree))


def test_a_schedule_is_found_again_by_its_structure() -> None:
    model, batched = TreeLSTM(), run.Batched()
    chance = np.random.default_rng(0)
    tree = grown(chance, 8)
    for _ in range(3):
        model.loss([tree, tree]).predict().run(batched)
    assert len(batched._schedules._schedules.items()) == 1


def test_schedules_are_forgotten_before_they_fill_the_memory() -> None:  # S13
    batched, w = run.Batched(), SGD(learning_rate=0.1).array_weight(np.ones(2))
    kept = []
    before = run.set_cache_limit(30_000)
    try:
        for n in range(2, 40):
            wg.gather(*(plus(w, w * float(i)) for i in range(n))).run(batched)
            kept.append(len(batched._schedules._schedules.items()))
            assert cache.held() <= 30_000
    finally:
        run.set_cache_limit(before)
    assert 2 < max(kept) < 15


def test_structures_that_look_alike_at_a_glance_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "glance", lambda x: b"")
    model, batched = TreeLSTM(), run.Batched()
    chance = np.random.default_rng(0)
    several = [grown(chance, 9) for _ in range(6)]
    for tree in [*several, *several]:
        loss = model.loss([tree])
        close([loss.predict().run(batched)], [loss.predict().run(sequential())])
    assert len(batched._schedules._schedules.items()) == len({*map(str, map(shape, several))}) > 1


@pytest.mark.parametrize("seed", range(5))
def test_no_launch_needs_what_comes_after_it(seed: int) -> None:
    chance = np.random.default_rng(seed)
    w = SGD(learning_rate=0.1).double_weight(0.5)
    pool: list[Layer] = [w * float(i) for i in range(4)]
    for _ in range(60):
        a, b = (pool[int(i)] for i in chance.integers(0, len(pool), 2))
        pool.append([wg.sin(a), wg.cos(a), a * b, wg.tanh(b)][int(chance.integers(4))])
    total = pool[-1]
    for x in pool[-20:]:
        total = total * x
    of = region_of([total])
    groups = grouped(of)
    assert groups is not None
    sources, readers = of.edges()
    assert (groups[sources] < groups[readers]).all()
