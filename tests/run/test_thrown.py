"""S6 and whatever is thrown at a thread from outside: all weights and optimizers have changed, or none has."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.attacked import OPTIMIZERS
from tests.run.counting import state_of
from tests.run.divided import dividing
from tests.run.planned import eager, plain
from tests.run.test_plans_failures import everybody_may_train
from tests.run.thrown import Thrown, by_signal, by_thread, raise_stopped
from wengert.control import machine
from wengert.graph.store import STORE, _inside
from wengert.plugins import Adagrad, LearningRateSchedule
from wengert.run.commit import commit
from wengert.run.compiled.plan import Bound
from wengert.saving import load, save


class Falling(Adagrad, LearningRateSchedule): ...


KINDS: dict[str, Callable[[], Any]] = {  # Any: settings classes take different keywords
    **{name: OPTIMIZERS[name] for name in ("SGD", "Adam")},
    "a schedule, few rows of a table": lambda: Falling(schedule=lambda t: 0.5 / (t + 1)),
}
EXECUTORS: dict[str, Callable[[], Any]] = {  # Any: interpreters
    "interpreter": plain,
    "plans": lambda: eager()[0],
    "Parallel": dividing,
    "Batched": wg.run.Batched,
}


class Scene:
    """Weights of three kinds, one of which few rows change; trained until plans are made."""

    def __init__(self, kind: str, executor: Any) -> None:  # Any: an interpreter
        self.settings = KINDS[kind]()
        self.w = self.settings.array_weight(np.linspace(-1, 1, 6).reshape(2, 3), name="w")
        self.table = self.settings.array_weight(np.ones((12, 3)), name="table")
        self.bias = self.settings.double_weight(0.5, name="bias")
        self.weights = (self.w, self.table, self.bias)
        self.executor = executor
        hidden = wg.tanh(wg.take(self.table, [0, 1], axis=0) * self.w + self.bias)
        self.loss = wg.mean(hidden @ np.ones((3, 2)))
        for _ in range(4):
            self.step()

    def step(self) -> None:
        self.loss.train().run(self.executor)

    def state(self) -> list[Any]:  # Any: numbers of all kinds
        now = getattr(self.settings, "commits", None)
        return [now, *(state_of(w) for w in self.weights)]


@pytest.fixture
def heard() -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, raise_stopped)
    yield
    signal.signal(signal.SIGUSR1, before)


def attacked(
    scene: Callable[[], Any],  # Any: whatever has a state
    work: Callable[[Any], Any],
    bomb: type,
    within: Callable[..., object],
    every: int = 1,
) -> tuple[int, int]:
    """How often nothing had changed, and how often all, with an exception at every so many places; all else fails."""
    calm = scene()
    before = calm.state()
    count = Thrown(bomb, 0, within)
    count.run(lambda: work(calm))
    after = calm.state()
    assert before != after
    nothing = everything = 0
    for at in range(1, count.met + 1, every):
        one = scene()
        thrown = Thrown(bomb, at, within)
        assert thrown.run(lambda one=one: work(one)) or thrown.met < at, (
            f"swallowed at place {at} of {count.met}"
        )
        found = one.state()
        assert found in (before, after), f"neither before nor after, at place {at} of {count.met}"
        nothing += found == before
        everything += found == after
        assert not STORE.readers, at
        assert not _inside.get(), at
    assert everybody_may_train()
    return nothing, everything


WITHIN: dict[str, Callable[..., object]] = {
    "interpreter": commit,
    "plans": Bound._change,
    "Parallel": Bound._change,
    "Batched": commit,
}
needs_signals = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no such signal")


def committed(kind: str, name: str, bomb: type, every: int) -> None:
    """An exception within the commit of an executor."""
    within = WITHIN[name] if kind in ("SGD", "Adam") else commit  # no plan takes the steps of a schedule
    nothing, everything = attacked(lambda: Scene(kind, EXECUTORS[name]()), Scene.step, bomb, within, every)
    assert nothing
    assert everything


@needs_signals
@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("name", EXECUTORS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_commit_is_whole_wherever_a_signal_comes(kind: str, name: str) -> None:
    committed(kind, name, by_signal(), 11)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXECUTORS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_commit_is_whole_whatever_another_thread_throws(kind: str, name: str) -> None:
    committed(kind, name, by_thread(), 1)


@pytest.mark.slow
@needs_signals
@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("name", EXECUTORS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_whole_wherever_something_is_thrown(kind: str, name: str) -> None:
    scene = lambda: Scene(kind, EXECUTORS[name]())  # noqa: E731 # as above
    nothing, everything = attacked(scene, Scene.step, by_signal(), machine.execute, 7)
    assert nothing
    assert everything


@needs_signals
@pytest.mark.usefixtures("heard")
def test_a_load_is_whole_wherever_something_is_thrown(tmp_path: Path) -> None:
    later = Scene("a schedule, few rows of a table", plain())
    later.step()
    save(tmp_path / "later", later.weights)

    def work(scene: Scene) -> None:
        load(tmp_path / "later", scene.weights)

    nothing, everything = attacked(
        lambda: Scene("a schedule, few rows of a table", plain()), work, by_signal(), STORE.alone
    )
    assert nothing
    assert everything
