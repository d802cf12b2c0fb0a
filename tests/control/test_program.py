"""What interpreters build on: programs, environments, the run as a whole, the executor."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import Any

import pytest

from wengert.control import Context, Do, Executor, Run, Steps, gather, set_default_executor
from wengert.control.machine import execute
from wengert.errors import NotAwaitableError, WengertError

from .tracking import Boom, Ledger, Other, raising


def environment(context: Context) -> Steps[object]:
    """A program that tells what it sees."""
    return context.environment
    yield  # makes it a generator


sees = Do.program(environment)


def in_run(act: Callable[[Run], object]) -> Do[Any]:  # Any: whatever the test does with the run
    def steps(context: Context) -> Steps[object]:
        return act(context.run)
        yield  # makes it a generator

    return Do.program(steps)


def test_a_program_is_sent_values_and_begins_afresh_in_each_run() -> None:
    begun: list[int] = []

    def steps(context: Context) -> Steps[int]:
        begun.append(1)
        total = 0
        for n in range(3):
            total += yield Do.delay(lambda: n)
        return total

    source = Do.program(steps)
    assert (source.run(), source.run(), len(begun)) == (3, 3, 2)


def test_a_program_may_catch_what_its_wish_failed_with_after_its_releases() -> None:
    ledger = Ledger()

    def steps(context: Context) -> Steps[list[str]]:
        yield ledger.resource("held")
        try:
            yield ledger.resource("failed").flat_map(lambda _: Do.fail(Boom("x")))
        except Boom:
            return ledger.open
        return []

    assert Do.program(steps).run() == ["held"]
    assert ledger.events == ["open held", "open failed", "close failed", "close held"]


def test_a_program_that_asks_for_something_else_is_told_where_it_asked() -> None:
    def steps(context: Context) -> Steps[str]:
        try:
            yield 3  # type: ignore[misc]  # the misuse that is tested
        except NotAwaitableError as failure:
            return str(failure)
        return "nothing"

    assert Do.program(steps).run() == (
        "what was awaited is 3 (int), not a Do; await a layer, a Do or a gather of these; "
        "wrap other work in Do.delay(function)"
    )


def test_within_reaches_into_everything_and_ends_with_its_source() -> None:
    every = gather(sees, sees.nested(), sees.shared(), Do.defer(lambda: sees), sees.recover(Do.fail))
    assert every.run() == (None,) * 5
    inside = Do.within("inner", every)
    assert inside.run() == ("inner",) * 5
    assert gather(sees, inside.map(lambda t: t[0]), sees).run() == (None, "inner", None)
    assert Do.within("a", inside.flat_map(lambda _: sees)).run() == "a"


def test_within_ends_with_a_failure_too() -> None:
    failing: Do[object] = Do.within("inner", Do.fail(Boom("x")))
    assert failing.recover(lambda _: sees).run() is None
    assert Do.within("outer", failing.recover(lambda _: sees)).run() == "outer"
    assert gather(failing.recover(lambda _: Do.now(1)), sees).run() == (1, None)


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


def test_a_program_is_closed_when_its_run_is_cancelled() -> None:
    ledger = Ledger()

    def steps(context: Context) -> Steps[int]:
        yield ledger.resource("before")
        try:
            yield ledger.resource("in").flat_map(lambda _: in_run(Run.cancel)).map(str)
        finally:
            ledger.note("closing")
        return 1

    with pytest.raises(CancelledError):
        Do.program(steps).run()
    assert ledger.events == ["open before", "open in", "close in", "closing", "close before"]


def test_a_program_that_fails_while_it_is_closed_is_heard() -> None:
    def steps(context: Context) -> Steps[int]:
        try:
            yield in_run(Run.cancel).map(str)
        finally:
            raising(Boom("in finally"))
        return 1

    with pytest.raises(Boom, match="in finally"):
        Do.program(steps).run()


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


asks = Do.program(lambda context: context.run.executor.predict("x", context))


@pytest.fixture
def no_default() -> Iterator[None]:
    from wengert.control import context

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
