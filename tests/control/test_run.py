"""The run as a whole: what it remembers, how it ends, who answers in it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import Any

import pytest

from wengert.control import Context, Do, Executor, Run, Steps, context, gather, set_default_executor
from wengert.control.running import execute
from wengert.errors import WengertError

from .tracking import Boom, Ledger, Other, in_run


def test_local_is_one_object_for_a_run() -> None:
    def local(run: Run) -> object:
        return run.local("key", object)

    first, second = gather(in_run(local), in_run(local)).run()
    assert first is second
    assert in_run(local).run() is not first


def test_local_makes_once_for_many_threads() -> None:
    run = Run()
    made: list[int] = []
    together = threading.Barrier(8)

    def make() -> list[int]:
        made.append(1)
        return made

    def ask() -> None:
        together.wait()
        run.local("key", make)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_on_success_comes_after_the_releases() -> None:
    ledger = Ledger()
    registers = in_run(lambda run: run.on_success(lambda: ledger.note("commit")))
    assert ledger.resource("r").flat_map(lambda _: registers.map(lambda _: 7)).run() == 7
    assert ledger.events == ["open r", "close r", "commit"]


def test_on_success_that_fails_fails_the_run_and_stops_the_next() -> None:
    calls: list[str] = []

    def fail() -> None:
        calls.append("first")
        raise Boom("commit")

    def register(run: Run) -> None:
        run.on_success(fail)
        run.on_success(lambda: calls.append("second"))

    with pytest.raises(Boom, match="commit"):
        in_run(register).run()
    assert calls == ["first"]


def test_on_success_is_not_called_after_a_failure_or_a_failing_release() -> None:
    calls: list[int] = []
    registers = in_run(lambda run: run.on_success(lambda: calls.append(1)))
    with pytest.raises(Boom):
        registers.flat_map(lambda _: Do.fail(Boom("x"))).run()
    with pytest.raises(Other):
        registers.flat_map(lambda _: Ledger(r=Other("exit")).resource("r")).run()
    assert calls == []


def test_cancel_stops_before_the_next_step() -> None:
    ledger = Ledger()
    calls: list[str] = []

    def cancel(run: Run) -> None:
        run.on_cancel(lambda: calls.append("cancelled"))
        run.on_success(lambda: calls.append("committed"))
        assert run.cancel()
        assert run.cancel()
        run.on_cancel(lambda: calls.append("too late, so at once"))

    source = ledger.resource("r").flat_map(lambda _: in_run(cancel).map(lambda _: calls.append("next step")))
    with pytest.raises(CancelledError, match="the run was cancelled"):
        source.recover(lambda _: Do.delay(lambda: calls.append("recovered"))).run()
    assert calls == ["cancelled", "too late, so at once"]
    assert ledger.events == ["open r", "close r"]


def test_a_cancelled_last_step_is_cancelled_and_not_committed() -> None:
    calls: list[str] = []

    def cancel(run: Run) -> None:
        run.on_success(lambda: calls.append("committed"))
        run.cancel()

    with pytest.raises(CancelledError):
        in_run(cancel).run()
    assert calls == []


def test_a_step_that_fails_because_of_the_cancellation_is_cancelled() -> None:
    def cancel(run: Run) -> None:
        run.cancel()
        raise Boom("connection closed")

    with pytest.raises(CancelledError) as caught:
        in_run(cancel).recover(Do.fail).run()
    assert isinstance(caught.value.__cause__, Boom)


def test_a_release_that_fails_in_a_cancelled_run_reaches_the_caller() -> None:
    ledger = Ledger(a=Boom("a"), b=Other("b"))
    source = ledger.resource("a").flat_map(lambda _: ledger.resource("b"))
    with pytest.raises(ExceptionGroup) as caught:
        source.flat_map(lambda _: in_run(Run.cancel)).run()
    assert [str(member) for member in caught.value.exceptions] == ["b", "a"]


def test_discarded_callbacks_are_not_called_and_failing_ones_stop_no_other() -> None:
    run = Run()
    calls: list[str] = []

    def fail() -> None:
        calls.append("first")
        raise Boom("callback")

    def gone() -> None:
        calls.append("gone")

    run.on_cancel(fail)
    run.on_cancel(gone)
    run.on_cancel(lambda: calls.append("last"))
    run.discard(gone)
    run.discard(gone)
    with pytest.raises(Boom, match="callback"):
        run.cancel()
    assert calls == ["first", "last"]
    assert run.cancel() is True


def test_a_finished_run_cannot_be_cancelled() -> None:
    run = Run()
    assert execute(Do.now(1), run) == 1
    assert run.cancel() is False
    assert run.cancelled is False


class Answers:
    """An executor that answers with what it was asked."""

    def _answer(self, *asked: object) -> Steps[Any]:  # Any: as in Executor
        seen = yield Do.now(asked)
        return seen

    def forward(self, expression: object, context: Context) -> Steps[Any]:  # Any: as in Executor
        return self._answer("forward", expression)

    def value(self, expression: object, context: Context) -> Steps[Any]:  # Any: as in Executor
        return self._answer("value", expression)

    def predict(self, expression: object, context: Context) -> Steps[Any]:  # Any: as in Executor
        return self._answer("predict", expression)

    def train(self, loss: object, context: Context) -> Steps[Any]:  # Any: as in Executor
        return self._answer("train", loss)

    def gradients(self, loss: object, wrt: object, context: Context) -> Steps[Any]:  # Any: as in Executor
        return self._answer("gradients", loss, wrt)

    def resolved(self, expression: object, context: Context) -> Steps[Any]:  # Any: as in Executor
        return self._answer("resolved", expression)

    def apply(self, deltas: object, context: Context) -> Steps[Any]:  # Any: as in Executor
        return self._answer("apply", deltas)

    def shards(self, losses: object, back: bool, context: Context) -> Steps[Any]:  # Any: as in Executor
        return self._answer("shards", losses, back)


asks = Do.program(lambda context: context.run.executor.predict("x", context))


@pytest.fixture
def no_default() -> Iterator[None]:
    before = context._default_executor
    set_default_executor(None)
    yield
    set_default_executor(before)


@pytest.mark.usefixtures("no_default")
def test_without_an_executor_only_expressions_are_refused() -> None:
    assert Do.now(1).run() == 1
    with pytest.raises(WengertError, match=r"no executor; import wengert, or name one as in do\.run"):
        asks.run()


@pytest.mark.usefixtures("no_default")
def test_the_executor_of_a_run_is_the_named_one_or_the_default() -> None:
    named: Executor = Answers()
    assert asks.run(named) == ("predict", "x")
    assert asks.start(named).result(10) == ("predict", "x")
    set_default_executor(named)
    assert asks.run() == ("predict", "x")
    chosen = Answers()
    assert in_run(lambda run: run.executor).run(chosen) is chosen
