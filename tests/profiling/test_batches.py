"""Pages of `Batched`: the equations of launches, what is around them, and which runs they are of."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.optimizers import WithAdam
from tests.profiling.test_programs import by_fake_clock
from wengert.plugins import SGD
from wengert.profiling import ProgramTimes, profile
from wengert.program.emit import Kernel
from wengert.run import Batched
from wengert.run.batching.kernel import BatchedKernel, batched_kernel

Vector = wg.ArrayLayer[tuple[int], np.float64]
LINE = "test_batches.py:"


class Model:
    """A recurrent cell, and losses of some lengths."""

    def __init__(self, settings: Any = SGD) -> None:
        self.w: Any = settings(learning_rate=0.1).array_weight(np.eye(3, dtype=np.float64) / 2)

        @wg.cell
        def step(h: Vector, x: Vector) -> Vector:
            rows: Vector = h @ self.w
            return wg.tanh(rows + x)

        self.step: Any = step

    def loss(self, *lengths: int) -> Any:
        return sum((self._one(n) for n in lengths), wg.lift(np.float64(0.0)))

    def _one(self, length: int) -> Any:
        h: Any = wg.lift(np.ones(3, np.float64))
        for i in range(length):
            h = self.step(h, np.full(3, 0.1 * i))
        return wg.sum(h)


def page_of(loss: Callable[[], Any], ask: Callable[[Any], Any], runs: int = 6) -> ProgramTimes:
    """The page of some runs, in which a reading of the clock takes a microsecond."""
    batched = Batched()
    with by_fake_clock(itertools.count(0, 1000).__next__) as p:
        for _ in range(runs):
            ask(loss()).run(batched)
    (page,) = p.programs
    return page


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("settings", [SGD, WithAdam])
def test_times_of_launches_and_of_all_else_are_the_wall(settings: Any, kept: bool) -> None:
    """By a clock that ticks when it is read: all that was between two readings is somebody's."""
    model = Model(settings)
    one = model.loss(3, 2, 1)
    page = page_of(lambda: one if kept else model.loss(3, 2, 1), lambda x: x.train())
    assert (page.question, page.runs) == ("train", 5)  # the first made kernels
    timed = [x for x in page.lines if x.part]
    parts = [page.finding, page.around, page.rest, *(x.seconds for x in timed)]
    assert sum(parts) == pytest.approx(page.seconds)
    assert all(x > 0.0 for x in parts[1:])
    assert (page.finding == 0.0) == kept
    assert {x.part for x in timed} == {"forward", "backward", "update"}
    assert all(x.operation for x in timed)
    equations = [x for x in timed if " = " in x.text]
    assert all(LINE in x.line for x in equations)
    assert page.accounted == pytest.approx(1.0 - page.rest / page.seconds)
    assert "recording nodes, finding the schedule" in str(page)


def test_an_equation_of_a_cell_is_on_the_line_within_it() -> None:
    model = Model()
    page = page_of(lambda: model.loss(3, 2, 1), lambda x: x.train())
    lines = {x.operation: x.line for x in page.lines if " = " in x.text}
    code = model.step.__wrapped__.__code__
    assert lines["matmul"] == f"{__file__}:{code.co_firstlineno + 2}"
    assert lines["tanh"] == f"{__file__}:{code.co_firstlineno + 3}"
    assert "step: 3.0 launches a run, of 2.0 rows" in str(page)


def test_a_prediction_has_kernels_that_leave_nothing() -> None:
    model = Model()
    page = page_of(lambda: model.loss(3, 2, 1), lambda x: x.predict())
    assert page.runs > 0
    assert {x.part for x in page.lines if x.part} == {"forward"}


def test_values_are_those_without_a_profile() -> None:
    found = []
    for program in (True, False):
        model, batched = Model(WithAdam), Batched()
        with profile(program=program):
            losses = [model.loss(3, 2, 1, n % 3 + 1).train().run(batched) for n in range(8)]
        found.append((np.array(losses).tobytes(), model.w.data.tobytes()))
    assert found[0] == found[1]


def test_launches_of_a_profile_are_not_those_of_other_runs() -> None:
    """A signature remembers launches, and none of them is slower for a profile."""
    model, seen = Model(), []
    with pytest.MonkeyPatch.context() as patched:
        make = BatchedKernel.__init__

        def made(self: BatchedKernel, *given: Any) -> None:
            seen.append((type(self).__name__, given[2] if len(given) > 2 else Kernel))
            make(self, *given)

        patched.setattr(BatchedKernel, "__init__", made)
        with profile(program=True):
            model.loss(3, 2, 1).train().run(Batched())
        assert {name for name, _ in seen} == {"TimedBatchedKernel"}
        seen.clear()
        model.loss(3, 2, 1).train().run(Batched())
        assert ("BatchedKernel", Kernel) in seen
        assert {name for name, _ in seen} == {"BatchedKernel"}
    assert callable(batched_kernel)


def test_rows_that_go_one_after_the_other_have_a_line() -> None:
    @wg.extend.operation(
        wg.extend.kinds.elementwise, lambda case, x: x * x * x, lambda case, g, y, x: g * (3.0 * x * x)
    )
    def cubed(x: Vector, /) -> Vector:  # without a batching rule
        raise NotImplementedError

    w = SGD(learning_rate=0.1).array_weight(np.ones(3, np.float64))
    vectors = [np.full((3,), 0.1 * i, np.float64) for i in range(4)]
    page = page_of(lambda: sum((wg.sum(cubed(w * x)) for x in vectors), wg.lift(0.0)), lambda x: x.train())
    assert page.runs > 0
    rows = [x for x in page.lines if x.text.strip() == "all rows" and x.operation == "cubed"]
    assert [(x.part, x.operation) for x in rows] == [("forward", "cubed"), ("backward", "cubed")]
    assert all(x.seconds > 0.0 and LINE in x.line for x in rows)


def test_nodes_by_themselves_and_a_run_that_fails() -> None:
    batched, w = Batched(), SGD(learning_rate=0.1).double_weight(2.0)

    @wg.extend.elementwise(lambda case, g, y, h: g)
    def small(case: wg.extend.Case, h: Any) -> Any:
        if h > 2.0:
            raise ValueError("above 2")
        return h

    with by_fake_clock(itertools.count(0, 1000).__next__) as p:
        for x in (0.1, 0.2, 9.0, 0.3):
            try:
                wg.square(small(w * x)).train().run(batched)
            except ValueError:
                assert x == 9.0
    (page,) = p.programs
    assert page.runs == 3
    texts = {(x.part, x.text.strip()) for x in page.lines if x.part}
    assert {("forward", "nodes by themselves"), ("backward", "nodes by themselves")} <= texts
    parts = [page.finding, page.around, page.rest, *(x.seconds for x in page.lines)]
    assert sum(parts) == pytest.approx(page.seconds)


def test_parts_of_a_longer_run_are_counted_as_missed() -> None:
    model, batched = Model(), Batched()
    both = wg.gather(model.loss(3, 2, 1).predict(), model.loss(2, 2).predict())
    with profile(program=True) as p:
        found = both.run(batched)
        model.loss(3, 2, 1).predict().run(batched)
    assert found == both.run(batched)
    assert p.programs == ()  # its only run made kernels
    assert "Rows of `Batched` count launches" in p.table()
    assert {row.operation for row in p.rows} >= {"step", "sum"}
    assert batched.report.runs > 0


def test_launches_that_hardly_count_are_a_line_for_each_direction() -> None:
    model = Model()

    def loss() -> Any:
        many = sum((wg.sum(model.w[i % 3] * float(i)) for i in range(60)), wg.lift(np.float64(0.0)))
        return many + model.loss(20, 19, 18)

    text = str(page_of(loss, lambda x: x.train()))
    assert "launches of less than 1%" in text
