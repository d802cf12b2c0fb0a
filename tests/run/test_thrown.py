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
from wengert.control import running
from wengert.graph.store import STORE, _inside
from wengert.plugins import Adagrad, LearningRateSchedule
from wengert.run.commit import commit
from wengert.run.compiled.plan import Bound
from wengert.saving import load, save


class Falling(Adagrad, LearningRateSchedule): ...


SCHEDULED = "a schedule, few rows of a table"
KINDS: dict[str, Callable[[], Any]] = {  # Any: settings classes take different keywords
    **{name: OPTIMIZERS[name] for name in ("SGD", "Adam")},
    SCHEDULED: lambda: Falling(schedule=lambda t: 0.5 / (t + 1)),
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

    def attack(at: int) -> None:
        nonlocal nothing, everything
        one = scene()
        thrown = Thrown(bomb, at, within)
        assert thrown.run(partial(work, one)) or thrown.met < at, f"swallowed at place {at} of {count.met}"
        found = one.state()
        assert found in (before, after), f"neither before nor after, at place {at} of {count.met}"
        nothing += found == before
        everything += found == after
        assert not STORE.readers, at
        assert not _inside.get(), at

    for at in range(count.met, 0, -every):  # the last place too, after which all has changed
        attack(at)
    for at in range(count.met + 1, 2 * count.met):  # a run of threads may have more places
        if everything:
            break
        attack(at)
    assert everybody_may_train()
    return nothing, everything


WITHIN: dict[str, Callable[..., object]] = {
    "interpreter": commit,
    "plans": Bound._change,
    "Parallel": Bound._change,
    "Batched": commit,
}
needs_signals = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no such signal")


def at_places(of_sgd: int, other: int, at_night: int) -> list[object]:
    """Kinds, and of how many places one is tried: a day of SGD's and of the others', and of all of them at night."""
    by_day = [(kind, of_sgd if kind == "SGD" else other) for kind in KINDS]
    return [*by_day, *(pytest.param(kind, at_night, marks=pytest.mark.nightly) for kind in KINDS)]


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
@pytest.mark.parametrize(("kind", "every"), at_places(5, 11, 1))
def test_a_commit_is_whole_whatever_another_thread_throws(kind: str, every: int, name: str) -> None:
    committed(kind, name, by_thread(), every)


@pytest.mark.slow
@needs_signals
@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("name", EXECUTORS)
@pytest.mark.parametrize(("kind", "every"), at_places(11, 23, 7))
def test_a_run_is_whole_wherever_something_is_thrown(kind: str, every: int, name: str) -> None:
    scene = lambda: Scene(kind, EXECUTORS[name]())  # noqa: E731 # as above
    nothing, everything = attacked(scene, Scene.step, by_signal(), running.answered, every)
    assert nothing
    assert everything


@pytest.mark.slow
@needs_signals
@pytest.mark.usefixtures("heard")
def test_a_load_is_whole_wherever_something_is_thrown(tmp_path: Path) -> None:
    later = Scene(SCHEDULED, plain())
    later.step()
    save(tmp_path / "later", later.weights)

    def work(scene: Scene) -> None:
        load(tmp_path / "later", scene.weights)

    nothing, everything = attacked(lambda: Scene(SCHEDULED, plain()), work, by_signal(), STORE.alone)
    assert nothing
    assert everything


# Optimizers with a state, whose loss in a commit shows in the next step only: then all weights leave their course.
_CHAIN = """
import os, random, signal, sys, time
import numpy as np, wengert as wg
from wengert.graph.store import STORE
from wengert.plugins import Adam, LearningRate

class Adapting(Adam, LearningRate): ...

class Stopped(BaseException): ...

def stop(*_):
    raise Stopped

executors = {"interpreter": lambda: wg.run.Sequential(compiled=False), "plans": wg.run.Sequential,
             "Parallel": lambda: wg.run.Parallel(2), "Batched": wg.run.Batched}

class Chain:
    def __init__(self):
        self.executor, settings = executors[sys.argv[1]](), Adapting(learning_rate=0.01)
        self.weights = [settings.array_weight(np.eye(16) + i / 100) for i in range(12)]
        self.steps, h = 0, np.linspace(-1, 1, 64).reshape(4, 16)
        for w in self.weights:
            h = wg.tanh(wg.matmul(h, w))
        self.loss = wg.mean(wg.square(h))

    def step(self):
        self.loss.train().run(self.executor)
        self.steps += 1

    def bits(self):
        return [w.data.tobytes() for w in self.weights]
"""

_STRESS = """
for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, stop)
chance, shot, calm = random.Random(0), Chain(), Chain()
begin = time.monotonic()
for _ in range(4):
    shot.step()
most = max(5e-3, time.monotonic() - begin)
for done in range(int(sys.argv[2])):
    try:
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-4, most))
        end = time.monotonic() + most + 1.0  # one that meets a finalizer is lost: Python keeps it to itself
        while time.monotonic() < end:
            shot.step()
    except Stopped:
        pass
    while calm.steps < shot.steps:
        calm.step()
    if shot.bits() != calm.bits():  # the last step was done, and not counted
        calm.step()
        shot.steps += 1
    assert shot.bits() == calm.bits(), f"off its course after {calm.steps} steps and {done + 1} signals"
assert wg.train(Adapting(learning_rate=1.0).double_weight(1.0) * 1.0).start().result(10.0) == 1.0
assert not STORE.readers
"""

# Two threads train, each its own; what is thrown at the second is not noticed by either's weights.
_SECOND = """
import ctypes, threading

chance, own, calm, shot, quiet = random.Random(0), Chain(), Chain(), Chain(), Chain()
begin = time.monotonic()
for _ in range(4):
    shot.step()
most = min(0.05, max(5e-3, time.monotonic() - begin))
threading.excepthook = lambda _: None  # thrown at it before it begins, or when it has ended

def work():
    try:
        end = time.monotonic() + most + 1.0
        while time.monotonic() < end:
            shot.step()
    except Stopped:
        pass

for done in range(int(sys.argv[2])):
    second = threading.Thread(target=work)
    second.start()
    end = time.monotonic() + chance.uniform(0, most)
    while time.monotonic() < end:
        own.step()
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(second.ident), ctypes.py_object(Stopped))
    second.join()
    for twin, one in ((calm, own), (quiet, shot)):
        while twin.steps < one.steps:
            twin.step()
    assert own.bits() == calm.bits(), "the first thread's"
    if shot.bits() != quiet.bits():  # the last step was done, and not counted
        quiet.step()
        shot.steps += 1
    assert shot.bits() == quiet.bits(), f"off its course after {quiet.steps} steps, {done + 1} exceptions"
assert not STORE.readers
"""

_ONE_BY_ONE = """
import wengert.graph.store

def one_by_one(changes):
    for call, *arguments in changes:
        time.sleep(1e-3)
        call(*arguments)

wengert.graph.store.carry_out = one_by_one
"""

# A process each, forked before the run that loads what makes plans: thrown while that is loaded.
_LATE = """
from functools import partial
from tests.run.thrown import Thrown, by_signal, raise_stopped
import wengert.later

signal.signal(signal.SIGUSR1, raise_stopped)
chain, real = Chain(), wengert.later.import_module
course = []
for _ in range(7):
    chain.step()
before = set(sys.modules)

def shot(at):
    thrown = Thrown(by_signal(), at, real)

    def import_module(name):
        if thrown.run(partial(real, name)):
            raise Stopped
        return sys.modules[name]

    wengert.later.import_module = import_module
    try:
        chain.step()
    except Stopped:
        assert at
    wengert.later.import_module = real
    return thrown.met

def forked(work):
    child = os.fork()
    if not child:
        signal.alarm(60)
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    assert not os.waitpid(child, 0)[1]

def ending():
    while chain.steps < 12:
        chain.step()
    return chain.bits()

def counted(end):
    os.write(end, np.int64(shot(0)).tobytes())
    assert "wengert.run.compiled.compiler" in {*sys.modules} - before
    os.write(end, b"".join(ending()))

begin, end = os.pipe()
forked(partial(counted, end))
places = int(np.frombuffer(os.read(begin, 8), np.int64)[0])
os.close(end)
with open(begin, "rb") as pipe:
    course = pipe.read()
assert places > 100 and len(course) == 12 * 16 * 16 * 8

def thrown_at(at):
    shot(at)
    assert b"".join(ending()) == course, at

for at in range(1, places, max(1, places // int(sys.argv[2]))):
    forked(partial(thrown_at, at))
"""

# A process each, forked before the library is imported: thrown while it is, and imported again.
_IMPORTED = """
import os, signal, sys
import numpy as np
from tests.run.thrown import Stopped, Thrown, by_signal, raise_stopped

signal.signal(signal.SIGUSR1, raise_stopped)

class Within(Thrown):  # the modules' own lines, and what registers operations
    def _called(self, frame, event, argument):
        traced = super()._called(frame, event, argument)
        return traced if "/wengert/" in frame.f_code.co_filename else None

def imported():
    import wengert
    return wengert

def work(at):
    thrown = Within(by_signal(), at, imported)
    assert thrown.run(imported) or thrown.met < at or not at
    wg = imported()
    from wengert.plugins import SGD
    w = SGD(learning_rate=0.1).array_weight(np.eye(3))
    before = wg.sum(wg.tanh(wg.matmul(w, w))).train().run()
    assert abs(before - 3.0 * np.tanh(1.0)) < 1e-12 and w.data[0, 0] < 1.0
    return thrown.met

def forked(at):
    begin, end = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(end, str(work(at)).encode())
            os._exit(0)
        finally:
            os._exit(1)
    assert not os.waitpid(child, 0)[1], at
    return int(os.read(begin, 20))

places = forked(0)
assert places > 1000
for at in range(1, places, places // int(sys.argv[1])):
    forked(at)
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
        timeout=3000,
    )
    assert found.returncode == 0, (found.returncode, found.stderr)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a timer that sends signals is POSIX's")
class TestAtRandom:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", EXECUTORS)
    def test_forty_signals(self, name: str) -> None:
        by_itself(_CHAIN + _STRESS, name, "40")

    @pytest.mark.slow
    @pytest.mark.parametrize("name", EXECUTORS)
    def test_a_second_thread_that_trains(self, name: str) -> None:
        by_itself(_CHAIN + _SECOND, name, "20")

    @pytest.mark.nightly
    @pytest.mark.parametrize("name", EXECUTORS)
    def test_a_second_thread_that_trains_two_thousand_times(self, name: str) -> None:
        by_itself(_CHAIN + _SECOND, name, "2000")

    @pytest.mark.slow
    def test_the_signals_find_a_commit_that_they_divide(self) -> None:
        with pytest.raises(AssertionError, match="off its course"):
            by_itself(_CHAIN + _ONE_BY_ONE + _STRESS, "interpreter", "100")

    @pytest.mark.nightly
    @pytest.mark.parametrize("name", EXECUTORS)
    def test_two_thousand_signals(self, name: str) -> None:
        by_itself(_CHAIN + _STRESS, name, "2000")

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["plans", "Parallel"])
    def test_while_what_makes_plans_is_loaded(self, name: str) -> None:
        by_itself(_CHAIN + _LATE, name, "10")

    @pytest.mark.nightly
    @pytest.mark.parametrize("name", ["plans", "Parallel"])
    def test_while_what_makes_plans_is_loaded_at_many_places(self, name: str) -> None:
        by_itself(_CHAIN + _LATE, name, "400")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
class TestForked:
    @pytest.mark.nightly
    def test_while_the_library_is_imported(self) -> None:
        by_itself(_IMPORTED, "100")

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
