"""What programs and schedules keep is bounded in bytes; what has to go is not made again for nothing."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from threading import Thread
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import wengert as wg
from tests.run.planned import Watched, eager, plain
from wengert import run
from wengert.control import Do
from wengert.errors import ArgumentError
from wengert.graph.operand import external
from wengert.plugins import SGD
from wengert.run.compiled import cache
from wengert.run.compiled.plan import Plan


@contextmanager
def limited(limit: int) -> Generator[None]:
    """Within: that many bytes, none of them taken yet."""
    before = run.set_cache_limit(0)
    run.set_cache_limit(limit)
    try:
        yield
    finally:
        run.set_cache_limit(before)


def layers(rows: int, depth: int = 3) -> Any:  # Any: an expression
    """Its plan keeps some 8 KB for each row."""
    x: Any = wg.lift(np.zeros((rows, 256)))
    for _ in range(depth):
        x = wg.tanh(x * WEIGHT) + 1.0
    return wg.mean(x)


WEIGHT = SGD(learning_rate=0.0).array_weight(np.ones(256))


@pytest.mark.slow
def test_buffers_are_bounded_together() -> None:
    with limited(4 << 20):
        executors = [eager() for _ in range(3)]
        for rows in range(20, 60):
            for executor, _ in executors:
                layers(rows).train().run(executor)
                assert cache.held() <= 4 << 20
        assert all(0 < plans.made < 20 for _, plans in executors)


@pytest.mark.slow
def test_the_least_recently_used_goes_first() -> None:
    with limited(4 << 20):
        executor, plans = eager()
        kept = layers(20)
        for rows in range(20, 80):
            layers(rows).train().run(executor)
            kept.train().run(executor)
        (first, *_) = [plan for plan in plans._plans.items() if plan.bound(layers(20)) is not None]
        assert not first.gone
        assert not any(plan.bound(layers(21)) is not None for plan in plans._plans.items())
        made = plans.made
        kept.train().run(executor)
        assert plans.made == made


@pytest.mark.slow
def test_schedules_count_too() -> None:
    with limited(60_000):
        executor, plans = eager()
        layers(2).train().run(executor)
        batched = run.Batched()
        for n in range(2, 60):
            wg.gather(*(layers(1, depth=2) for _ in range(n))).run(batched)
            assert cache.held() <= 60_000
        assert plans.made == 0


def waiting(rows: int) -> Any:  # Any: an expression
    """A network that waits for a value between two parts."""
    half = layers(rows)

    async def other() -> Any:
        return layers(rows) * 2.0 if await half > -1.0 else half

    made: Any = external(Do.coroutine(other).flat_map(lambda layer: layer.forward), half.kind)
    return made * 1.0


@pytest.mark.slow
def test_programs_between_binds_count_too() -> None:
    with limited(1 << 20):
        executor, _ = eager()
        segments: Any = executor.engine.segments
        for rows in range(20, 40):
            for _ in range(3):
                waiting(rows).train().run(executor)
                assert cache.held() <= 1 << 20
        assert 0 < len(segments._made.items()) < 40


def test_what_was_used_last_stays() -> None:
    with limited(0):
        executor, plans = eager()
        layers(64).train().run(executor)
        assert plans.made == 1
        layers(65).train().run(executor)
        assert plans.made == 1


def test_an_expression_that_is_kept_does_not_keep_what_has_gone() -> None:
    with limited(1 << 20):
        executor, plans = eager()
        kept = [layers(rows) for rows in range(20, 60)]
        for x in kept:
            x.train().run(executor)
            x.train().run(executor)
        alive = {id(plan) for plan in plans._plans.items()}
        bounds = [x._kept[2].plan for x in kept if x._kept is not None]
        assert sum(len(plan.program.free) for plan in bounds if id(plan) not in alive) == 0
        kept[0].train().run(executor)
        assert plans.made < 20


def test_caches_die_with_their_executors() -> None:  # S13
    gc.disable()
    try:
        executor, plans = eager()
        layers(10).train().run(executor)
        (plan,) = (weakref.ref(plan) for plan in plans._plans.items())
        before = cache.held()
        del executor, plans
        assert plan() is None
        assert cache.held() < before
    finally:
        gc.enable()


def test_what_had_to_go_is_made_ever_more_seldom() -> None:
    made: list[Plan] = []
    with limited(0), patch.object(Plan, "__init__", autospec=True, side_effect=_noted(made)):
        executor, plans = eager(worth=2)
        for i in range(64):
            layers(20 + i % 2).train().run(executor)
    assert 2 < len(made) <= 10, "at run 2, 4, 8, 16 and 32 of either at the latest, not at every other one"
    assert isinstance(plans, Watched)


def _noted(made: list[Plan]) -> Any:
    usual = Plan.__init__

    def init(self: Plan, *arguments: Any) -> None:
        made.append(self)
        usual(self, *arguments)

    return init


@pytest.mark.slow
def test_structures_that_take_turns_are_each_asked_once() -> None:
    """With any number of them a run looks at one plan, its own."""
    executor, plans = eager(worth=1)
    for rows in range(1, 41):
        layers(rows).train().run(executor)
    assert plans.made == 40
    with patch.object(Plan, "bound", autospec=True, side_effect=Plan.bound) as looked:
        for rows in [*range(1, 41)] * 2:
            layers(rows).train().run(executor)
    assert looked.call_count == 80


def test_a_structure_without_a_plan_looks_at_none() -> None:
    executor, plans = eager(worth=3)
    for _ in range(6):
        layers(1).train().run(executor)
    with patch.object(Plan, "bound", autospec=True, side_effect=Plan.bound) as looked:
        for rows in range(2, 42):
            layers(rows).train().run(executor)
    assert looked.call_count <= 1
    assert plans.made == 1


def test_one_that_comes_again_is_found_without_a_look_at_its_nodes() -> None:
    executor, plans = eager(worth=1)
    for _ in range(3):
        layers(3).train().run(executor)
    with patch.object(plans, "key", side_effect=plans.key) as asked:
        layers(3).train().run(executor)
    assert not asked.called


@pytest.mark.slow
def test_plans_that_fit_nobody_are_soon_left_alone() -> None:
    """Expressions of one key that are all different: other sharing, each time."""
    executor, plans = eager(worth=1)
    w = SGD(learning_rate=0.0).double_weight(0.5)

    def random(seed: int) -> Any:
        chance, made = np.random.default_rng(seed), [w * 1.0]
        for _ in range(12):
            a, b = chance.integers(len(made), size=2)
            made.append(wg.maximum(made[a], made[b]))
        return sum(made[1:], made[0])

    with patch.object(Plan, "bound", autospec=True, side_effect=Plan.bound) as looked:
        for seed in range(400):
            assert random(seed).predict().run(executor) == random(seed).predict().run(plain())
    assert plans.made <= 8
    assert looked.call_count < 8 * 400 / 4


@pytest.mark.slow
def test_threads_may_let_go_of_what_others_run() -> None:
    wrong: list[object] = []

    def work(seed: int) -> None:
        chance = np.random.default_rng(seed)
        try:
            for _ in range(60):
                rows = int(chance.integers(20, 40))
                wanted = layers(rows).predict().run(plain())
                if layers(rows).predict().run(executor) != wanted:
                    wrong.append(rows)
        except BaseException as failure:  # told below
            wrong.append(failure)

    with limited(1 << 19):
        executor, _ = eager()
        threads = [Thread(target=work, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


@pytest.mark.parametrize("limit", [-1, 1.5, True, "256 MB"])
def test_a_limit_that_is_none_is_refused(limit: Any) -> None:
    with pytest.raises(ArgumentError, match=r"an int from 0 on; got .*\n  at .*test_cache.py"):
        run.set_cache_limit(limit)
