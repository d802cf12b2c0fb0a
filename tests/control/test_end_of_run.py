"""Who answers in a run, and what happens at its end, whichever way it ends."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Generator, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager

import pytest

from wengert.control import Context, Do, Executor, Run, Steps, context, gather, replace_executors
from wengert.control.machine import Frame, Machine
from wengert.control.resources import RunCancelled
from wengert.control.running import execute

from .test_run import Answers
from .tracking import Boom, Ledger, Opening, Other, in_run


@pytest.fixture
def nobody_in_place() -> Iterator[None]:
    before = replace_executors(None)
    yield
    replace_executors(before)


@pytest.mark.usefixtures("nobody_in_place")
def test_another_answers_in_place_of_the_executor_of_a_run() -> None:
    named, other = Answers(), Answers()
    replaced: list[object] = []

    def by(executor: Executor) -> Executor:
        replaced.append(executor)
        return other

    assert Run(named).chosen is named
    assert replace_executors(by) is None
    run = Run(named)
    assert run.chosen is run.executor is other
    assert replace_executors(None) is by
    assert Run(named).chosen is named
    assert replaced == [named]


@pytest.mark.usefixtures("nobody_in_place")
def test_in_place_of_nobody_nobody_answers() -> None:
    before, context._default_executor = context._default_executor, None
    try:
        replace_executors(lambda executor: pytest.fail("nobody is there to be replaced"))
        assert Run().chosen is None
    finally:
        context._default_executor = before


@pytest.mark.parametrize("failure", [None, Boom("x"), KeyboardInterrupt()])
def test_on_close_comes_at_the_very_end_however_the_run_ends(failure: BaseException | None) -> None:
    ledger = Ledger()

    def act(run: Run) -> None:
        run.on_close(lambda: ledger.note("first"))
        run.on_close(lambda: ledger.note("second"))
        run.on_success(lambda: ledger.note("commit"))
        if failure is not None:
            raise failure

    source = ledger.resource("r").flat_map(lambda _: in_run(act))
    if failure is None:
        source.run()
    else:
        with pytest.raises(type(failure)):
            source.run()
    committed = ["commit"] if failure is None else []
    assert ledger.events == ["open r", "close r", *committed, "first", "second"]


def test_a_closed_run_calls_nobody_twice_and_remembers_nothing() -> None:
    run = Run()
    calls: list[str] = []
    run.on_close(lambda: calls.append("closed"))
    run.on_success(lambda: calls.append("done"))
    made = run.local("key", object)
    assert execute(Do.now(1), run) == 1
    run.close()
    assert calls == ["done", "closed"]
    assert run.local("key", object) is not made
    assert run.cancel() is False


def test_a_closed_run_keeps_nothing_of_what_it_was_given() -> None:
    class Callback:
        def __call__(self, *given: object) -> None: ...

    run = Run()
    given: list[weakref.ref[object]] = []
    for register in (run.on_cancel, run.on_settle, run.on_success, run.on_close):
        callback = Callback()
        given.append(weakref.ref(callback))
        register(callback)
    given.append(weakref.ref(run.local("key", Callback)))
    shared = Do.delay(Callback).shared()
    execute(shared.map(lambda value: given.append(weakref.ref(value))), run)
    del callback, register
    gc.collect()
    assert [kept() for kept in given] == [None] * 6


def test_a_run_closed_without_an_end_cannot_be_cancelled() -> None:
    run = Run()
    calls: list[str] = []
    run.on_cancel(lambda: calls.append("cancelled"))
    run.close()
    assert run.cancel() is False
    assert calls == []


def test_a_program_that_is_cancelled_keeps_an_interrupt_of_what_it_opened() -> None:
    """The interrupt is the outcome, though a coroutine waits below and its own close fails as well."""
    ledger = Ledger(r=KeyboardInterrupt("in the exit"))

    async def waits() -> object:
        try:
            return await ledger.resource("r").flat_map(lambda _: in_run(Run.cancel))
        finally:
            raise Boom("close")

    with pytest.raises(KeyboardInterrupt, match="in the exit") as caught:
        Do.coroutine(waits).run()
    notes = " ".join(caught.value.__notes__)
    assert "RunCancelled" in notes and "Boom: close" in notes
    assert ledger.events == ["open r", "close r"]


def test_an_interrupt_in_the_exit_of_a_nested_part_passes_every_handler() -> None:
    ledger = Ledger(r=KeyboardInterrupt())
    calls: list[object] = []
    nested = ledger.resource("r").nested()
    with pytest.raises(KeyboardInterrupt):
        nested.recover(lambda x: Do.delay(lambda: calls.append(x))).map(calls.append).run()
    assert calls == [] and ledger.events == ["open r", "close r"]


def test_settled_a_cancellation_is_too_late_for_the_last_step_and_not_for_another() -> None:
    def settles(run: Run) -> None:
        run.on_settle(lambda value: calls.append(f"settled {value}"))
        run.on_success(lambda: calls.append("committed"))
        run.settle(3)
        assert run.cancel()

    calls: list[str] = []
    in_run(settles).run()
    assert calls == ["settled 3", "committed"]
    with pytest.raises(CancelledError):
        in_run(settles).map(lambda _: calls.append("next step")).run()
    assert calls == ["settled 3", "committed", "settled 3"]


def test_nothing_settles_in_a_cancelled_run_or_where_it_is_refused() -> None:
    def refuse(value: object) -> None:
        raise Boom(f"refused {value}")

    def refused(run: Run) -> None:
        run.on_settle(refuse)
        run.settle(3)

    def cancelled(run: Run) -> None:
        run.cancel()
        run.settle(3)

    with pytest.raises(Boom, match="refused 3"):
        in_run(refused).run()
    with pytest.raises(CancelledError):
        in_run(cancelled).run()
    run = Run()
    run.cancel()
    with pytest.raises(RunCancelled):
        run.settle(3)
    assert not run.settled


def test_a_run_that_is_cancelled_while_it_lets_go_of_the_last_gives_no_value() -> None:
    @contextmanager
    def cancelling(run: Run) -> Generator[None]:
        yield
        assert run.cancel()

    last = in_run(lambda run: run).flat_map(lambda run: Do.resource(lambda: cancelling(run)))
    with pytest.raises(CancelledError):
        last.run()


def test_a_step_that_fails_when_it_is_abandoned_keeps_no_other_from_it() -> None:
    abandoned: list[str] = []

    class Waiting(Frame):
        def abandon(self, machine: Machine, stop: BaseException) -> BaseException:
            abandoned.append("another")
            return stop

    class Failing(Frame):
        def abandon(self, machine: Machine, stop: BaseException) -> BaseException:
            raise Boom("abandoned")

    machine = Machine(Run())
    machine.frames += [Waiting(), Failing()]
    assert str(machine.abandon(RunCancelled())) == "abandoned"
    assert abandoned == ["another"]


def test_check_ends_a_cancelled_run_between_two_questions() -> None:
    calls: list[str] = []

    def steps(context: Context) -> Steps[None]:
        context.run.check()
        calls.append("before")
        context.run.cancel()
        context.run.check()
        calls.append("after")
        yield Do.now(None)

    with pytest.raises(CancelledError):
        Do.program(steps).run()
    assert calls == ["before"]


def test_a_failure_in_a_later_branch_finds_its_own_things_released_and_others_open() -> None:
    ledger = Ledger()
    seen: list[tuple[list[str], object]] = []

    def look(failure: Exception) -> Do[Opening]:
        seen.append((ledger.open, failure))
        return ledger.resource("again")

    failing: Do[Opening] = ledger.resource("b").flat_map(lambda _: Do.fail(Other("b")))
    gather(ledger.resource("a"), failing.recover(look), ledger.resource("c")).run()
    assert [(names, str(failure)) for names, failure in seen] == [(["a"], "b")]
    assert ledger.events == [
        *("open a", "open b", "close b", "open again", "open c"),
        *("close c", "close again", "close a"),
    ]


def test_a_do_has_no_truth_and_no_items() -> None:
    with pytest.raises(TypeError, match=r"truth of a Do.*write do\.run\(\)"):
        bool(Do.now(True))
    with pytest.raises(TypeError, match=r"iteration of a Do.*write do\.run\(\)"):
        iter(Do.now([1]))  # type: ignore[call-overload] # refused by checkers as well


def test_a_run_that_has_succeeded_is_not_cancelled_by_what_follows() -> None:
    answers: list[bool] = []
    assert (
        in_run(lambda run: run.on_success(lambda: answers.append(run.cancel()))).map(lambda _: 3).run() == 3
    )
    assert answers == [False]


def test_each_user_of_a_shared_part_gets_the_failures_of_its_releases_too() -> None:
    ledger = Ledger(r=Other("exit"))
    shared: Do[str] = ledger.resource("r").flat_map(lambda _: Do.fail(Boom("x"))).shared()
    seen: list[Exception] = []

    def look(failure: Exception) -> Do[str]:
        seen.append(failure)
        return Do.now("seen")

    gather(shared.recover(look), shared.recover(look)).run()
    first, second = seen
    assert first is second
    assert isinstance(first, ExceptionGroup) and [str(x) for x in first.exceptions] == ["x", "exit"]
    assert ledger.events == ["open r", "close r"]


def test_who_lets_go_last_closes_a_shared_part_though_each_has_a_machine_of_its_own() -> None:
    ledger = Ledger()
    shared = ledger.resource("s").shared()
    run = Run()
    first, second, late = Machine(run), Machine(run), Machine(run)
    first.evaluate(shared)
    second.evaluate(shared)
    assert first.value is second.value
    first.release(0)
    assert ledger.open == ["s"]
    second.release(0)
    assert ledger.open == []
    late.evaluate(shared)
    assert late.value is first.value and late.finalizers == []
    assert ledger.events == ["open s", "close s"]
