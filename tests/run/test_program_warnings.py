"""A defect in what makes programs is told: once for a structure, with the pass, and the run goes on without one."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import wengert as wg
from tests.run.planned import eager, plain, same
from tests.run.test_cell_programs import by_programs
from tests.run.test_plans_failures import Failing
from tests.run.waiting import Gated
from wengert.errors import ArgumentError, ProgramWarning
from wengert.plugins import SGD
from wengert.program.build import NoProgram
from wengert.program.derive import Lowering
from wengert.run.compiled import compiler, plan, program
from wengert.run.compiled.plans import Plans
from wengert.run.sequential import Engine, Interpreter

PASSES = {  # what breaks, and how it is called
    "derive": (Lowering, "forward", "wengert.run.compiled.lowered.lowered_in_steps"),
    "reverse": (Lowering, "backward", "wengert.run.compiled.lowered.lowered_in_steps"),
    "simplify": (program, "needed", "wengert.run.compiled.program.simplified"),
    "siblings": (plan, "stacked", "wengert.run.compiled.plan._made"),
    "memory": (program, "Placement", "wengert.run.compiled.program.buffers_of"),
    "emit": (program, "PlanText", "wengert.run.compiled.program.making"),
    "text": (program, "executed", "wengert.run.compiled.program._compile"),
}


def _broken(*given: Any, **options: Any) -> Any:
    raise KeyError("lost")


@contextmanager
def noted() -> Generator[list[str]]:
    """The texts of warnings, as Python shows them: each once."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        yield texts
    assert all(x.category is ProgramWarning for x in found)
    texts += [str(x.message) for x in found]


def steps(executor: Any, runs: int) -> list[bytes]:
    """Losses and weight of a small training."""
    w = SGD(learning_rate=0.1).array_weight(np.eye(3, dtype=np.float32))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    losses = [wg.sum(wg.tanh(x @ w)).train().run(executor) for _ in range(runs)]
    return [np.asarray(y).tobytes() for y in (*losses, w.data)]


@pytest.mark.parametrize("name", PASSES)
def test_a_broken_pass_is_told_once_and_the_run_goes_on(name: str) -> None:
    of, function, place = PASSES[name]
    executor, plans = eager(worth=2)
    with noted() as texts, patch.object(of, function, _broken):
        found = steps(executor, 5)
    assert found == steps(plain(), 5)
    assert not any(p.usable for p in plans._plans.items())
    (text,) = texts
    assert text.startswith("no program of an expression of 3 nodes, the last of which is sum at ")
    assert (
        f"test_program_warnings.py:{steps.__code__.co_firstlineno + 4}: {place} failed with KeyError('lost')"
        in text
    )


def test_as_an_error_it_changes_nothing() -> None:
    """As in these tests, where warnings are errors."""
    w = SGD(learning_rate=0.1).double_weight(2.0)
    executor = eager(worth=1)[0]
    with (
        patch.object(program, "needed", _broken),
        pytest.raises(ProgramWarning, match=r"simplified failed with KeyError\('lost'\)"),
    ):
        wg.square(w * 3.0).train().run(executor)
    assert w.data == 2.0
    assert wg.square(w * 3.0).train().run(executor) == 36.0
    assert wg.square(w * 3.0).predict().run(executor) == wg.square(w * 3.0).predict().run(plain())


def test_a_cell_is_told_of() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.eye(3, dtype=np.float32))

    @wg.cell
    def step(h: Any) -> Any:
        return wg.tanh(h @ w) + 1.0

    def loss() -> Any:
        return wg.sum(step(step(wg.lift(np.ones((2, 3), np.float32)))))

    expected = loss().predict().run(plain())
    for of, broken, what in (
        (Lowering, "forward", "a cell"),
        (Lowering, "backward", "a cell"),
        (compiler, "_case", "the way back through a cell"),
    ):
        executor = by_programs()
        with noted() as texts, patch.object(of, broken, _broken):
            values = [loss().predict().run(executor) for _ in range(4)]
            wg.gradients(loss(), (w,)).run(executor)
        assert values == [expected] * 4
        assert any(text.startswith(f"no program of {what} of 3 nodes") for text in texts)


@pytest.mark.parametrize(
    ("of", "function", "what"),
    [
        (compiler, "capture", "a segment of "),
        (Lowering, "backward", "the way back through a segment of "),
        (compiler, "_case", "the way back through a segment of "),
        (compiler._LoweredPath, "back", "the way back from "),
    ],
)
def test_segments_and_ways_back_are_told_of(of: Any, function: str, what: str) -> None:
    ours, theirs, executor = Gated(), Gated(), eager(worth=2)[0]
    with noted() as texts, patch.object(of, function, _broken):
        for i in range(8):
            same([ours.step(i, executor)], [theirs.step(i, plain())])
    same(ours.data(), theirs.data())
    assert any(text.startswith(f"no program of {what}") for text in texts), texts


@pytest.mark.parametrize("failure", [NoProgram("it depends"), ArgumentError("the user's own")])
def test_what_is_no_defect_is_not_told(failure: Exception) -> None:
    def refused(*given: Any) -> Any:
        raise failure

    executor, plans = eager(worth=2)
    with patch.object(Lowering, "forward", refused):  # a warning would be an error
        found = steps(executor, 5)
    assert found == steps(plain(), 5)
    assert not any(p.usable for p in plans._plans.items())


# -- programs that are made and fail -----------------------------------------------------------------


def _failing(*given: Any) -> Any:
    raise KeyError("lost")


def test_a_plan_that_fails_where_the_interpreter_does_not_is_told_once() -> None:
    with noted() as texts:
        found = steps(Interpreter(Engine(Plans(2, Failing))), 5)
    assert found == steps(plain(), 5)
    assert [text.partition(", the last")[0] for text in texts] == [
        "the program of an expression of 3 nodes"
    ], texts
    assert "failed in its first run with Boom('always')" in texts[0]


def test_programs_of_segments_and_cells_that_fail_are_told_once() -> None:
    ours, theirs, executor = Gated(), Gated(), eager(worth=2)[0]
    with noted() as texts, patch.object(program.PlanProgram, "take", _failing):
        for i in range(8):
            same([ours.step(i, executor)], [theirs.step(i, plain())])
    assert any(text.startswith("the program of a segment of ") for text in texts), texts
    w = SGD(learning_rate=0.1).array_weight(np.eye(3, dtype=np.float32))

    @wg.cell
    def step(h: Any) -> Any:
        return wg.tanh(h @ w) + 1.0

    def loss() -> Any:
        return wg.sum(step(step(wg.lift(np.ones((2, 3), np.float32)))))

    other = by_programs()
    with noted() as texts, patch.object(program.PlanProgram, "take", _failing):
        values = [loss().predict().run(other) for _ in range(4)]
    assert values == [loss().predict().run(plain())] * 4
    (text,) = texts
    assert text.startswith("the program of a cell of 3 nodes, the last of which is add at "), text


def test_one_that_fails_where_the_interpreter_does_is_not_told() -> None:
    asked: list[int] = []

    @wg.extend.elementwise(lambda case, g, y, h: g)
    def broken(case: wg.extend.Case, h: Any) -> Any:
        asked.append(1)
        if len(asked) > 1:
            raise ValueError("the user's own")
        return h

    w = SGD(learning_rate=0.1).array_weight(np.eye(3, dtype=np.float32))
    executor, _ = eager(worth=1)
    for _ in range(3):  # a warning would be an error
        with suppress(ValueError):
            wg.sum(broken(w * 2.0)).train().run(executor)
    assert len(asked) > 3
