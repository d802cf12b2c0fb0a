"""S6 and S7 with plans: wherever a plan stops, nothing has changed, and the user hears what the interpreter says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from types import FunctionType
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.run.attacked import OPTIMIZERS, interruptions
from tests.run.counting import Boom, Counted, state_of
from tests.run.planned import eager, plain, same
from wengert.errors import NonFiniteError, ProgramWarning
from wengert.graph.store import STORE
from wengert.plugins import SGD, FailOnNonFinite
from wengert.program.program import Program
from wengert.run import Sequential
from wengert.run.compiled import compiler
from wengert.run.compiled.plans import BackwardPrograms, Plans
from wengert.run.compiled.program import PlanProgram
from wengert.run.compiled.segment import Segments
from wengert.run.sequential import Engine

Once = Callable[[], None]
Vector = wg.ArrayLayer[Any, np.float64]
SETTLE = "= yield"


class Scene:
    """A network with weights of two columns, run by a plan that a test can break at any line."""

    def __init__(self, optimizer: str) -> None:
        settings = OPTIMIZERS[optimizer]()
        self.w = settings.array_weight(np.linspace(-1, 1, 6).reshape(2, 3))
        self.table = settings.array_weight(np.ones((4, 3)))
        self.bias = settings.double_weight(0.5)
        self.executor, self.plans = eager(worth=2)
        for _ in range(3):  # the last by the plan: one that fails in its first run goes
            self.step(self.executor)
        (self.plan,) = self.plans._plans.items()
        self.source, self.run = self.plan.program.source, self.plan.program.run

    def step(self, executor: Any, rows: Any = (0, 1)) -> float:  # Any: an interpreter, and indices
        hidden = wg.relu(wg.take(self.table, list(rows), axis=0) * self.w + self.bias)
        loss = wg.cross_entropy(hidden @ np.ones((3, 2)), [0, 1]) + 0.1 * wg.mean(hidden)
        return float(loss.train().run(executor))

    @property
    def weights(self) -> tuple[Any, ...]:  # Any: weights of two columns
        return self.w, self.table, self.bias

    def weights_data(self) -> list[Any]:  # Any: arrays
        return [np.asarray(w.data) for w in self.weights]

    def state(self) -> list[Any]:  # Any: numbers of all kinds
        return [state_of(w) for w in self.weights]

    @property
    def lines(self) -> list[str]:
        return self.source.splitlines()[1:]

    @property
    def settles(self) -> int:
        """The line after which nothing can be taken back."""
        return next(i for i, line in enumerate(self.lines) if SETTLE in line)

    def broken(self, at: int, stop: Once) -> None:
        """From now on the program calls `stop` before line `at`."""
        lines = self.source.splitlines()
        lines.insert(at + 1, " stop()")
        assert isinstance(self.run, FunctionType)
        scope: dict[str, Any] = {**self.run.__globals__, "stop": stop}  # Any: and the new program
        exec("\n".join(lines), scope)
        broken: Any = scope["program"]  # Any: a function of the text
        self.plan.program.run = broken


@pytest.mark.parametrize("at", ["in the making of buffers", "in the first line", "after the last"])
def test_buffers_of_a_step_that_fails_are_there_for_the_next(
    at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the step is the interpreter's, which would say what fails if it failed there, too."""
    scene, other = Scene("SGD"), Scene("SGD")
    program = scene.plan.program
    kept = [*program.free]
    assert len(kept) == 1

    def stop(*given: object) -> Any:
        raise MemoryError("no memory for buffers")

    with monkeypatch.context() as patch:
        if at == "in the making of buffers":
            patch.setattr(PlanProgram, "take", stop)
        else:
            scene.broken(0 if at == "in the first line" else scene.settles, stop)
        scene.step(scene.executor)
    program.run = scene.run
    assert len(program.free) == 1
    assert program.free[0] is kept[0]
    other.step(other.executor)
    for each in (scene, other):
        each.step(each.executor)
    assert scene.plan.usable
    same(scene.weights_data(), other.weights_data(), 1e-14)


def raising(kind: type[BaseException], times: int = 1) -> tuple[Once, list[int]]:
    """A function that raises, so many times; and how often it was called."""
    calls: list[int] = []

    def stop() -> None:
        calls.append(len(calls))
        if len(calls) <= times:
            raise kind("stopped")

    return stop, calls


class Failing(PlanProgram):
    """A program of which every run fails."""

    runs = 0

    def __init__(self, p: Program) -> None:
        super().__init__(p)
        self.run = self.refused

    def refused(self, inputs: object, frame: object) -> Any:
        Failing.runs += 1
        raise Boom("always")


@contextmanager
def told() -> Generator[None]:
    """A scope in which a warning says which program fails where the interpreter does not."""
    with pytest.warns(ProgramWarning, match="was made and failed in its first run with Boom"):
        yield


def failing(traced: str) -> Any:  # Any: a patch
    """A scope in which such programs fail in their runs."""
    usual = getattr(compiler, traced)

    def made(*given: Any) -> Any:
        with patch.object(compiler, "PlanProgram", Failing):
            return usual(*given)

    return patch.object(compiler, traced, made)


ASKED: dict[str, Callable[[Any, Any], Any]] = {
    "predict": lambda loss, w: loss.predict(),
    "train": lambda loss, w: loss.train(),
    "gradients": lambda loss, w: wg.gradients(loss, (w,)),
}


@pytest.mark.parametrize("once", [True, False], ids=["one expression", "built anew"])
@pytest.mark.parametrize("question", ASKED)
def test_a_plan_that_fails_in_its_first_run_goes(question: str, once: bool) -> None:
    """It is made again after twice as many runs each time: of 40 runs six meet one, and not each as before."""
    Failing.runs, plans, executor = 0, Plans(1, Failing), Sequential()
    executor.engine = Engine(plans)
    found = []
    with told():
        for by in (executor, plain()):
            w = SGD(learning_rate=0.1).array_weight(np.linspace(-1, 1, 6).reshape(2, 3))
            loss = wg.sum(wg.tanh(w))
            asked = [ASKED[question](loss if once else wg.sum(wg.tanh(w)), w).run(by) for _ in range(40)]
            found.append(np.array(asked).tobytes())
    assert found[0] == found[1]
    assert 1 <= Failing.runs <= 6
    assert len(plans._plans.items()) <= 1  # the last one, which has not run yet


def test_programs_between_binds_that_fail_in_their_first_run_go() -> None:
    Failing.runs, executor = 0, Sequential()
    executor.engine = Engine(Plans(1), Segments(1), backward=BackwardPrograms(1))

    @wg.differentiable
    async def gated(x: Vector) -> Vector:
        return x * 2.0 if (await wg.sum(x)) > 0 else -x

    found = []
    with told(), failing("traced_path"):
        for by in (executor, plain()):
            w = SGD(learning_rate=0.1).array_weight(np.ones((2, 3)))
            found.append(np.array([wg.sum(gated(wg.tanh(w))).train().run(by) for _ in range(40)]).tobytes())
    assert found[0] == found[1]
    assert 1 <= Failing.runs <= 12  # two ways, as the branch changes


def test_a_way_back_of_a_segment_that_fails_in_its_first_run_goes() -> None:
    """The segment keeps its program forward."""
    Failing.runs, executor = 0, Sequential()
    segments = Segments(1)
    executor.engine = Engine(Plans(1), segments)

    @wg.differentiable
    async def gated(x: Vector) -> Vector:
        return x * 2.0 if (await wg.sum(x)) > 0 else -x

    found = []
    with told(), failing("traced_backward"):
        for by in (executor, plain()):
            w = SGD(learning_rate=0.1).array_weight(np.ones((2, 3)))
            found.append(np.array([wg.sum(gated(wg.tanh(w))).train().run(by) for _ in range(40)]).tobytes())
    assert found[0] == found[1]
    assert 1 <= Failing.runs <= 2 * len(segments._made.items())


def everybody_may_train() -> bool:
    """Whether another thread can train: no lock was left behind."""
    w = SGD(learning_rate=1.0).double_weight(1.0)
    return w.train().start().result(10.0) == 1.0


@pytest.mark.parametrize("optimizer", few(("SGD", "Adam", "Momentum", "SGD of rate 1"), 1, 2))
def test_a_plan_that_fails_anywhere_before_the_changes_is_made_good(optimizer: str) -> None:
    """The interpreter runs instead, on weights that are as they were."""
    for at in range(Scene(optimizer).settles + 1):
        scene, other = Scene(optimizer), Scene(optimizer)
        stop, calls = raising(Boom)
        scene.broken(at, stop)
        with interruptions() as found:
            assert scene.step(scene.executor) == pytest.approx(other.step(plain()), rel=1e-12)
            assert scene.step(scene.executor) == pytest.approx(other.step(plain()), rel=1e-12)
        assert (len(found), len(calls)) == (1, 2)
        same([np.array(w.data) for w in scene.weights], [np.array(w.data) for w in other.weights])
        assert everybody_may_train()


@pytest.mark.parametrize("optimizer", few(("SGD", "Adam", "Momentum", "SGD of rate 1"), 1, 2))
def test_an_interrupt_anywhere_before_the_changes_changes_nothing(optimizer: str) -> None:
    for at in range(Scene(optimizer).settles + 1):
        scene = Scene(optimizer)
        before = scene.state()
        scene.broken(at, raising(KeyboardInterrupt)[0])
        with pytest.raises(KeyboardInterrupt):
            scene.step(scene.executor)
        assert scene.state() == before
        assert everybody_may_train()
        assert not STORE.readers
        scene.step(scene.executor)
        assert scene.state() != before


def test_a_failure_between_the_changes_leaves_no_lock_behind() -> None:
    count = len(Scene("SGD").lines)
    for at in range(Scene("SGD").settles + 1, count):
        for kind in (Boom, KeyboardInterrupt):
            scene = Scene("SGD")
            scene.broken(at, raising(kind)[0])
            with pytest.raises(kind):
                scene.step(scene.executor)
            assert everybody_may_train()
            scene.step(scene.executor)


@pytest.mark.slow
def test_a_cancelled_run_changes_nothing_by_a_plan() -> None:
    for at in range(Scene("Adam").settles + 1):
        scene = Scene("Adam")
        before = scene.state()
        inside, go_on = threading.Event(), threading.Event()

        def stop(inside: threading.Event = inside, go_on: threading.Event = go_on) -> None:
            inside.set()
            go_on.wait(10.0)

        scene.broken(at, stop)
        hidden = wg.relu(wg.take(scene.table, [0, 1], axis=0) * scene.w + scene.bias)
        loss = wg.cross_entropy(hidden @ np.ones((3, 2)), [0, 1]) + 0.1 * wg.mean(hidden)
        future = loss.train().start(scene.executor)
        assert inside.wait(10.0)
        assert future.cancel()
        go_on.set()
        with pytest.raises(CancelledError):
            future.result(10.0)
        assert everybody_may_train()
        assert scene.state() == before


def test_failures_that_only_data_cause_are_told_as_by_the_interpreter() -> None:
    said = []
    for by_plan in (True, False):
        scene = Scene("Momentum")
        before = scene.state()
        with interruptions() as found, pytest.raises(IndexError) as failure:
            scene.step(scene.executor if by_plan else plain(), rows=(1, 9))
        assert len(found) == by_plan
        assert scene.state() == before
        said.append((str(failure.value), failure.value.__notes__))
    assert said[0] == said[1]
    assert "take" in said[0][1][0]


def test_an_operation_that_fails_is_told_as_by_the_interpreter() -> None:
    said = []
    for executor in (eager()[0], plain()):
        counted = Counted()
        w = SGD(learning_rate=1.0).array_weight(np.ones(3))

        def loss(counted: Counted = counted, w: Any = w) -> Any:
            return wg.sum(wg.tanh(counted.apply(w * 2.0) * w))

        loss().train().run(executor)
        before = w.data.tolist()
        for where in ("forward_failure", "backward_failure"):
            setattr(counted, where, Boom)
            with pytest.raises(Boom) as failure:
                loss().train().run(executor)
            setattr(counted, where, None)
            said.append(failure.value.__notes__)
            assert w.data.tolist() == before
    assert said[:2] == said[2:]


def test_a_refusal_by_a_plugin_changes_nothing() -> None:
    class Settings(FailOnNonFinite, SGD): ...

    said = []
    for executor in (eager()[0], plain()):
        settings = Settings(learning_rate=1.0)
        w, v = settings.array_weight(np.ones(3), name="w"), settings.double_weight(1.0, name="v")
        for i in range(6):
            x = np.full(3, np.inf if i % 2 else 1.0, np.float64)
            before = w.data.tolist(), v.data
            if i % 2:
                with pytest.raises(NonFiniteError) as failure:
                    wg.sum(w * x * v).train().run(executor)
                said.append(str(failure.value))
                assert (w.data.tolist(), v.data) == before
            else:
                wg.sum(w * x * v).train().run(executor)
                assert (w.data.tolist(), v.data) != before
    assert said[:3] == said[3:]
