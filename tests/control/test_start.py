"""`start` and its future; cancelling and Ctrl-C."""

from __future__ import annotations

import contextvars
import gc
import signal
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, as_completed, wait
from contextlib import suppress
from typing import Any

import pytest

from wengert.control import Do, gather

from .tracking import Boom, Ledger, Other, raising


class Gate:
    """A step that a test holds open: `reached` when it runs, `go` to let it return."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.go = threading.Event()

    def step(self) -> Do[bool]:
        def work() -> bool:
            self.reached.set()
            return self.go.wait(10)

        return Do.delay(work)


def test_d88_result_gives_up_waiting_and_not_the_run() -> None:
    gate = Gate()
    future = gate.step().map(lambda _: "done").start()
    with pytest.raises(TimeoutError):
        future.result(0.01)
    assert future.running()
    assert not future.done()
    gate.go.set()
    assert future.result(10) == "done"
    assert not future.running()


def test_start_runs_on_another_thread_with_this_threads_context_variables() -> None:
    variable = contextvars.ContextVar("variable", default="outside")
    variable.set("inside")

    def look() -> tuple[str, threading.Thread]:
        seen = variable.get()
        variable.set("changed")
        return seen, threading.current_thread()

    seen, thread = Do.delay(look).start().result(10)
    assert (seen, variable.get()) == ("inside", "inside")
    assert thread is not threading.current_thread()


def test_a_failure_of_a_started_run_is_in_its_future() -> None:
    failure = Boom("x")
    assert Do.fail(failure).start().exception(10) is failure
    exit_ = SystemExit(3)
    assert Do.delay(lambda: raising(exit_)).start().exception(10) is exit_


def test_d18_cancelling_stops_before_the_next_step_and_releases_first() -> None:
    gate, ledger = Gate(), Ledger()
    met: list[object] = []
    source = ledger.resource("r").flat_map(lambda _: gate.step().map(met.append))
    future = source.recover(lambda x: Do.delay(lambda: met.append(x))).start()
    assert gate.reached.wait(10)
    assert future.cancel()
    assert not future.cancelled()
    assert ledger.open == ["r"]
    gate.go.set()
    with pytest.raises(CancelledError):
        future.result(10)
    assert future.cancelled()
    assert ledger.events == ["open r", "close r"]
    assert met == []
    assert future.cancel()


def test_a_finished_future_cannot_be_cancelled() -> None:
    future = Do.now(1).start()
    assert future.result(10) == 1
    assert future.cancel() is False
    assert future.result() == 1


def test_a_release_that_fails_while_cancelling_reaches_the_future() -> None:
    gate, ledger = Gate(), Ledger(r=Other("exit"))
    future = ledger.resource("r").flat_map(lambda _: gate.step()).start()
    assert gate.reached.wait(10)
    future.cancel()
    gate.go.set()
    assert isinstance(future.exception(10), Other)


def test_a_cancelled_error_of_the_users_own_is_a_failure() -> None:
    other: Future[int] = Future()
    other.cancel()
    future = Do.delay(other.result).start()
    assert isinstance(future.exception(10), CancelledError)
    assert not future.cancelled()


def test_the_future_works_with_the_standard_library() -> None:
    gate = Gate()
    slow, quick = gate.step().start(), Do.now(True).start()
    done, pending = wait([slow, quick], 10, FIRST_COMPLETED)
    assert done == {quick}
    assert pending == {slow}
    called: list[Future[bool]] = []
    slow.add_done_callback(called.append)
    assert gate.reached.wait(10)
    slow.cancel()
    gate.go.set()
    assert {future.cancelled() for future in as_completed([slow, quick], 10)} == {True, False}
    assert called == [slow]


@pytest.mark.parametrize(
    "around",
    [
        lambda do: do,
        lambda do: do.nested(),
        lambda do: do.shared(),
        lambda do: gather(do, Do.now(1)),
        lambda do: Do.coroutine(lambda: awaiting(do)),
    ],
)
def test_d18_ctrl_c_releases_all_once(around: Callable[[Do[Any]], Do[Any]]) -> None:  # Any: of all types
    ledger = Ledger()
    met: list[Exception] = []
    source = ledger.resource("a").flat_map(
        lambda _: around(ledger.resource("b").map(lambda _: signal.raise_signal(signal.SIGINT)))
    )
    with pytest.raises(KeyboardInterrupt):
        source.recover(lambda x: Do.delay(lambda: met.append(x))).run()
    assert ledger.events == ["open a", "open b", "close b", "close a"]
    assert met == []


async def awaiting(do: Do[object]) -> object:
    return await do


@pytest.mark.slow
def test_d18_ctrl_c_at_any_moment_releases_all_once() -> None:
    """A signal arrives at a random place of the machine itself, many times."""

    def loop(ledger: Ledger, turns: int) -> Do[int]:
        shared = ledger.resource("s").shared()
        part = gather(ledger.resource("g"), shared, shared.nested())
        body = ledger.resource("n").flat_map(lambda _: part).nested()
        return body.recover(lambda _: Do.now(())).flat_map(
            lambda _: loop(ledger, turns - 1) if turns else Do.now(0)
        )

    def alarm(*_: object) -> None:
        raise KeyboardInterrupt

    finished = 0
    before = signal.signal(signal.SIGALRM, alarm)
    gc.collect()
    gc.disable()  # what a signal raises in a callback of the collector is lost
    try:
        for turn in range(300):
            ledger = Ledger()
            source = loop(ledger, 1_000)
            with suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.0005 + turn % 50 * 0.00003)
                source.run()
                finished += 1
            opens = sum(event.startswith("open") for event in ledger.events)
            closes = len(ledger.events) - opens
            # The last opening or closing itself may have been interrupted, inside the test's own code.
            assert opens - closes <= 1, ledger.events[-6:]
        assert finished < 300, "no signal arrived in time: the loop is too short for this machine"
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
