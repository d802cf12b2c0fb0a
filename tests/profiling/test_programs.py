"""The pages of programs: each equation with its time, its operation and its line; what has no name is found."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from tests.optimizers import WithAdam
from tests.run.branches import heads
from tests.run.planned import trained
from wengert.control import replace_executors
from wengert.extend import Optimizer, dense
from wengert.plugins import SGD, Plugin
from wengert.profiling import Profile, ProgramTimes, profile
from wengert.profiling.programs import MeasuredProgram
from wengert.profiling.record import ProfileRecord
from wengert.profiling.timed import Replacing
from wengert.program.program import Program
from wengert.run import Parallel, Sequential

PAGE = """\
train at HERE: 5 runs of 26.8 us each, 76% accounted for
        us   share
                    in  v0: float32[3,3]
                    in  v1: float32[2,3]
       3.0   11.2%  forward
       1.0    3.7%      v2: float32[2,3] = dot(v1, v0)                           matmul         HERE
       1.0    3.7%      v3: float32[2,3] = tanh(v2)                              tanh           HERE
       1.0    3.7%      v4: float32 = add.reduce(v3, axis=None, keepdims=False)  sum            HERE
       3.0   11.2%  backward
       1.0    3.7%      v5: float32[2,3] = mul(v3, v3)                           tanh           HERE
       1.0    3.7%      v6: float32[2,3] = sub(1.0, v5)                          tanh           HERE
       1.0    3.7%      v7: float32[2,3] = mul(v6, <float32[2, 3]>)              tanh           HERE
       3.0   11.2%  update
       1.0    3.7%      v8: float32[3,2] = transposed(v1)                        update by SGD  HERE
       1.0    3.7%      v9: float32[3,3] = dot(v8, v7)                           update by SGD  HERE
       1.0    3.7%      v10: float32[3,3] = mul(v9, 0.1)                         update by SGD  HERE
                    out v4
                    at  v11: float32[3,3]
       1.0    3.7%  update
       1.0    3.7%      subtract_into(v11, v10)                                  update by SGD  HERE
       1.4    5.2%  finding the plan
       9.0   33.6%  reading weights, making changes known
       6.4   23.9%  the rest of the run"""


@contextmanager
def by_fake_clock(tick: Callable[[], int]) -> Generator[Profile]:
    """As `profile(program=True)`, with another clock."""
    record = ProfileRecord(0, tick)
    replacing = Replacing(record, compiled=False, program=True)
    before = replace_executors(replacing)
    try:
        yield Profile(record, replacing)
    finally:
        replace_executors(before)


def loss_of(w: Any) -> Any:
    return wg.sum(wg.tanh(np.ones((2, 3), np.float32) @ w))


def page_of(settings: Any, runs: int = 7) -> ProgramTimes:
    """The page of a small training, in which a reading of the clock takes a microsecond."""
    w = settings.array_weight(np.eye(3, dtype=np.float32))
    with by_fake_clock(itertools.count(0, 1000).__next__) as p:
        for _ in range(runs):
            loss_of(w).train().run()
    (page,) = p.programs
    return page


def test_a_small_training_reads_as_a_page() -> None:
    text = str(page_of(SGD(learning_rate=0.1)))
    assert re.sub(r"\S*test_programs.py:\d+", "HERE", text) == PAGE


class Halves(Optimizer):
    """Somebody's part, which promises nothing."""

    def step(self, delta: Any, weight: Any) -> Any:
        return super().step(dense(delta) * 0.5, weight)


class Halving(Plugin):
    optimizer: ClassVar[type[Optimizer]] = Halves


class Halved(Halving, SGD): ...


def test_a_page_says_that_steps_are_taken_one_by_one() -> None:
    """What a part has not promised keeps its steps out of the program."""
    page = page_of(Halved(learning_rate=0.1))
    assert "update" not in {x.part for x in page.lines}
    assert "reading weights, steps of optimizers one by one, making changes known" in str(page)


@pytest.mark.parametrize("settings", [SGD, WithAdam])
def test_times_of_equations_and_of_all_else_are_the_wall(settings: Any) -> None:
    """By a clock that ticks when it is read: all that was between two readings is somebody's."""
    page = page_of(settings(learning_rate=0.1))
    parts = [page.finding, page.around, page.rest, *(x.seconds for x in page.lines)]
    assert sum(parts) == pytest.approx(page.seconds)
    assert all(x >= 0.0 for x in parts)
    assert page.accounted == pytest.approx(1.0 - page.rest / page.seconds)
    assert page.rest / page.runs == pytest.approx(
        6e-6, abs=2e-6
    )  # so many readings, whatever is in the program
    timed = [x for x in page.lines if x.part]
    assert all(x.seconds > 0.0 and x.operation and x.line for x in timed)
    assert {x.part for x in timed} == {"forward", "backward", "update"}


def test_an_equation_that_is_not_mapped_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    full = page_of(SGD(learning_rate=0.1))

    class Forgetful(MeasuredProgram):
        """One that has lost whose its second equation is."""

        def __init__(self, clock: Callable[[], int], p: Program) -> None:
            first, second, *others = p.eqns
            super().__init__(clock, replace(p, eqns=[first, replace(second, source=None), *others]))

    monkeypatch.setattr("wengert.profiling.record.MeasuredProgram", Forgetful)
    page = page_of(SGD(learning_rate=0.1))
    (lost,) = [x for x in page.lines if x.part == "not mapped"]
    assert "tanh" in lost.text
    assert not lost.operation
    assert "not mapped" in str(page)
    assert full.accounted - page.accounted == pytest.approx(lost.seconds / page.seconds)


def test_values_are_those_without_a_profile() -> None:
    found = []
    for scope in (profile(program=True), profile()):
        w = WithAdam(learning_rate=0.1).array_weight(np.eye(3, dtype=np.float32))
        with scope:
            losses = [loss_of(w).train().run() for _ in range(6)]
        found.append((np.array(losses).tobytes(), w.data.tobytes()))
    assert found[0] == found[1]


@pytest.mark.parametrize("executor", [Sequential(), Parallel(threads=2)])
def test_each_question_of_each_structure_has_a_page(executor: Any) -> None:
    w = SGD(learning_rate=0.1).array_weight(np.eye(3, dtype=np.float32))
    with profile(program=True) as p:
        for _ in range(5):
            loss_of(w).predict().run(executor)
            wg.gradients(loss_of(w), (w,)).run(executor)
            loss_of(w).train().run(executor)
    assert {(x.question, x.runs) for x in p.programs} == {("predict", 3), ("gradients", 3), ("train", 3)}
    assert not any(x.part == "not mapped" for page in p.programs for x in page.lines)
    assert "plan of train" in p.table()


def test_branches_that_run_as_one_are_mapped_to_the_first() -> None:
    with profile(program=True) as p:
        trained(heads(branches=10), Sequential())
    (page,) = p.programs
    assert not any(x.part == "not mapped" for x in page.lines)
    (tanh,) = [x for x in page.lines if " tanh(" in x.text]
    assert "float32[10," in tanh.text


def test_an_executor_without_plans_has_no_pages() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.eye(3, dtype=np.float32))
    with profile(program=True) as p:
        for _ in range(5):
            loss_of(w).train().run(Sequential(compiled=False))
    assert p.programs == ()


def test_many_runs_are_summed() -> None:
    """Readings are kept for some runs only."""
    few, many = (page_of(SGD(learning_rate=0.1), runs) for runs in (4, 600))
    assert [x.seconds / few.runs for x in few.lines] == pytest.approx(
        [x.seconds / many.runs for x in many.lines]
    )
