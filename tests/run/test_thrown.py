"""S6 and whatever is thrown at a thread from outside: all weights and optimizers have changed, or none has."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.run.attacked import OPTIMIZERS
from tests.run.counting import state_of
from tests.run.divided import dividing
from tests.run.planned import eager, plain
from tests.run.test_plans_failures import everybody_may_train
from tests.run.thrown import Thrown, by_signal, by_thread, raise_stopped
from wengert.control import do
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
        assert thrown.run(partial(work, one)) or thrown.met < at, f"swallowed at place {at} of {count.met}"
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
@pytest.mark.parametrize("name", few(EXECUTORS, 1))
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
    nothing, everything = attacked(scene, Scene.step, by_signal(), do.execute, 7)
    assert nothing
    assert everything


@pytest.mark.slow
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


_STRESS = """
import random, signal, sys, time
import numpy as np, wengert as wg
from wengert.graph.store import STORE
from wengert.plugins import SGD

class Stopped(BaseException): ...

def stop(*_):
    raise Stopped

executor = {"interpreter": lambda: wg.run.Sequential(compiled=False), "plans": wg.run.Sequential,
            "Parallel": lambda: wg.run.Parallel(2), "Batched": wg.run.Batched}[sys.argv[1]]()
settings, chance = SGD(learning_rate=1.0), random.Random(0)
weights = [settings.array_weight(np.zeros((64, 64))) for _ in range(40)]
loss = wg.sum(weights[0])
for w in weights[1:]:
    loss = wg.add(loss, wg.sum(w))  # all fall by 1 together, or none
for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, stop)
done = 0
while done < int(sys.argv[2]):
    try:
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-4, 5e-3))
        end = time.monotonic() + 1.0  # a signal that meets a finalizer is lost: Python keeps what that raises to itself
        while time.monotonic() < end:
            loss.train().run(executor)
    except Stopped:
        pass
    done += 1
    values = {float(x) for w in weights for x in (w.data[0, 0], w.data[-1, -1])}
    assert len(values) == 1, values
assert wg.train(settings.double_weight(1.0) * 1.0).start().result(10.0) == 1.0
assert not STORE.readers
"""

_FORKED = """
import os, signal, sys, threading, time
import numpy as np, wengert as wg
from wengert.graph.store import STORE
from wengert.plugins import SGD

executor = {"interpreter": lambda: wg.run.Sequential(compiled=False), "plans": wg.run.Sequential,
            "Parallel": lambda: wg.run.Parallel(2), "Batched": wg.run.Batched}[sys.argv[1]]()
settings = SGD(learning_rate=1.0)
weights = [settings.array_weight(np.zeros((64, 64))) for _ in range(20)]
loss = wg.sum(weights[0])
for w in weights[1:]:
    loss = wg.add(loss, wg.sum(w))
over = threading.Event()

def work():
    while not over.is_set():
        loss.train().run(executor)

def level():
    (value,) = {float(x) for w in weights for x in (w.data[0, 0], w.data[-1, -1])}
    return value

for _ in range(20):
    loss.train().run(executor)
other = threading.Thread(target=work)
other.start()
for turn in range(int(sys.argv[2])):
    time.sleep(0.001 * (turn % 7))
    child = os.fork()
    if not child:
        signal.alarm(20)  # one that hangs dies of it
        before = level()
        for _ in range(3):
            loss.train().run(executor)
        os._exit(0 if level() == before - 3.0 and not STORE.readers else 1)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ended:
        break
over.set()
other.join()
sys.exit(ended)
"""


def by_itself(program: str, *arguments: str) -> None:
    """Run a program in a process of its own."""
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, (found.returncode, found.stderr)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a timer that sends signals is POSIX's")
class TestAtRandom:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", EXECUTORS)
    def test_a_hundred_signals(self, name: str) -> None:
        by_itself(_STRESS, name, "100")

    @pytest.mark.nightly
    @pytest.mark.parametrize("name", EXECUTORS)
    def test_two_thousand_signals(self, name: str) -> None:
        by_itself(_STRESS, name, "2000")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
class TestForked:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", EXECUTORS)
    def test_a_process_forked_while_another_thread_trains_can_train(self, name: str) -> None:
        by_itself(_FORKED, name, "6")

    def test_nobody_reads_or_trains_in_it(self) -> None:
        """All that other threads hold at the moment of a fork."""
        begun, go_on = threading.Event(), threading.Event()

        def meanwhile() -> None:
            begun.set()
            go_on.wait(10.0)

        def hold() -> None:
            STORE.begin(begun)
            STORE.alone(meanwhile)
            STORE.end(begun)

        other = threading.Thread(target=hold)
        other.start()
        assert begun.wait(10.0)
        child = os.fork()
        if not child:
            try:
                signal.alarm(10)
                os._exit(0 if not STORE.readers and everybody_may_train() else 1)
            finally:
                os._exit(2)
        go_on.set()
        other.join()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
