"""The engine in this process: each fault does what it says, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from wengert.cluster import Fault, Local, Message
from wengert.errors import ArgumentError, NodeLostError

called: list[int] = []


def note(n: int) -> int:
    called.append(n)
    return n * n


def refuse(n: int) -> int:
    error = ValueError(f"no {n}")
    error.add_note("in shard 3")
    raise error


class Counter:
    def __init__(self, start: int) -> None:
        self.n = start

    def add(self, n: int) -> int:
        self.n += n
        return self.n


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    called.clear()


def first(fault: Fault) -> Callable[[Message], Fault | None]:
    return lambda message: fault if message.number == 0 else None


@pytest.mark.parametrize(
    ("fault", "calls", "known", "seconds"),
    [
        (Fault.LOST_BEFORE, [4], False, 10.0),
        (Fault.LOST_AFTER, [3, 4], False, 10.0),
        (Fault.DOUBLED, [3, 3, 4], True, 0.0),
        (Fault.DELAYED, [4], False, 10.0),
        (Fault.REORDERED, [4, 3], True, 0.0),
    ],
)
def test_messages_meet_the_fault_that_was_asked_for(
    fault: Fault, calls: list[int], known: bool, seconds: float
) -> None:
    engine = Local(faults=first(fault))
    one, two = engine.submit(note, 3), engine.submit(note, 4)
    assert engine.wait([two], 10.0) == {two} and two.result() == 16
    assert bool(engine.wait([one], 10.0)) is known and called == calls and engine.now == seconds
    if fault is Fault.DELAYED:
        assert engine.wait([one], 100.0) == {one} and one.result() == 9 and engine.now == 60.0


@pytest.mark.parametrize("fault", [Fault.DIED_BEFORE, Fault.DIED_AFTER])
def test_death_fails_what_is_unanswered_and_another_worker_comes(fault: Fault) -> None:
    engine = Local(workers=1, faults=first(fault))
    one, two = engine.submit(note, 3), engine.submit(note, 4)
    assert engine.wait([one], 1.0) == {one}
    for future in (one, two):
        with pytest.raises(NodeLostError, match="worker-0 has died"):
            future.result()
    assert called == [3] * (fault is Fault.DIED_AFTER)
    assert engine.deaths() == ["worker-0"] and engine.deaths() == [] and engine.workers == 1
    three = engine.submit(note, 5)
    assert engine.wait([three], 1.0) == {three} and three.result() == 25 and engine.unanswered == 0


def test_nobody_answers_where_no_worker_is_left_until_one_joins() -> None:
    engine = Local(workers=1, replaced=False)
    engine.kill("worker-0")
    assert engine.workers == 0 and engine.wait([engine.submit(note, 1)], 5.0) == set()
    assert engine.join() == "worker-1" and engine.workers == 1
    future = engine.submit(note, 2)
    assert engine.wait([future], 5.0) == {future}


def test_failures_keep_their_type_and_their_notes() -> None:
    engine = Local()
    future = engine.submit(refuse, 7)
    engine.wait([future], 1.0)
    with pytest.raises(ValueError, match="no 7") as failure:
        future.result()
    assert failure.value.__notes__ == ["in shard 3"]
    with pytest.raises(ArgumentError, match="cannot be sent to another process"):
        engine.submit(note, (n for n in (1, 2)))


def test_values_are_copied_and_those_put_cannot_be_written_to() -> None:
    engine, x = Local(), np.zeros(3)
    ref = engine.put({"x": x})
    future = engine.submit(lambda got: got["ref"].read()["x"], {"ref": ref})
    x += 1.0
    engine.wait([future], 1.0)
    assert future.result().tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        ref.read()["x"][0] = 2.0


def test_place_keeps_its_object_and_loses_it_with_its_process() -> None:
    engine = Local()
    place = engine.place("counter", Counter, 5, restarts=1)

    def ask() -> int:
        future = place.call("add", 1)
        engine.wait([future], 1.0)
        found: int = future.result()
        return found

    assert (ask(), ask()) == (6, 7)
    engine.kill("counter")
    assert ask() == 6 and engine.deaths() == ["counter"]
    engine.kill("counter")
    with pytest.raises(NodeLostError, match="counter has died"):
        ask()


def test_failure_of_making_an_object_is_that_of_a_message() -> None:
    engine = Local()
    future = engine.place("p", Counter).call("add", 1)
    engine.wait([future], 1.0)
    with pytest.raises(TypeError, match="start"):
        future.result()


def test_closed_engine_answers_nobody() -> None:
    engine = Local()
    future, place = engine.submit(note, 1), engine.place("p", Counter, 0)
    late = place.call("add", 1)
    engine.close()
    engine.close()
    for unanswered in (future, late, engine.submit(note, 2), place.call("add", 1)):
        with pytest.raises(NodeLostError):
            unanswered.result()
    assert called == [] and engine.unanswered == 0


def test_importing_wengert_imports_no_cluster() -> None:
    code = "import sys, wengert; print([x for x in ('ray', 'cloudpickle', 'wengert.cluster') if x in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )
