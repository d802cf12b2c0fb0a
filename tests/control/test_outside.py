"""Outcomes from elsewhere: futures, awaitables, callbacks; who waits together; transactions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any

import pytest

import wengert as wg
from wengert.control import Do, UnitContinuation, gather
from wengert.errors import ArgumentError, NotAwaitableError
from wengert.plugins import SGD

from .tracking import Boom, Ledger

EXECUTORS: dict[str, Callable[[], Any]] = {  # Any: executors have no common public type
    "Sequential": wg.run.Sequential,
    "Parallel": partial(wg.run.Parallel, 2),
    "Batched": wg.run.Batched,
}
every_executor = pytest.mark.parametrize("make", EXECUTORS.values(), ids=EXECUTORS)


class Meeting:
    """Callbacks that resume when `size` of them have been registered: in turn they would wait for ever."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.come: list[Callable[[], None]] = []

    def join(self, value: int) -> Do[int]:
        def register(resume: Callable[[int], None], fail: Callable[[Exception], None]) -> None:
            self.come.append(partial(resume, value))
            if len(self.come) == self.size:
                come, self.come = self.come, []
                for wake in come[::-1]:
                    wake()

        return Do.callback(register)


def settings() -> SGD:
    return SGD(learning_rate=0.1)


# -- Do.of ------------------------------------------------------------------------------------------


def test_of_a_future_is_its_outcome_in_every_run() -> None:
    future: Future[int] = Future()
    threading.Timer(0.01, future.set_result, [3]).start()
    source = Do.of(future)
    assert (source.run(), source.map(str).run()) == (3, "3")


def test_of_a_do_or_a_layer_is_itself() -> None:
    one = Do.now(1)
    assert Do.of(one) is one
    assert Do.of(wg.lift(2.0) * 3.0).run() == 6.0


def test_of_a_coroutine_needs_no_event_loop_and_begins_when_run() -> None:
    begun = list[int]()

    async def work() -> int:
        begun.append(1)
        await asyncio.sleep(0)
        return 5

    source = Do.of(work())
    assert begun == []
    assert (source.run(), source.run(), begun) == (5, 5, [1])


def test_a_failure_and_a_cancellation_of_a_future_are_the_runs() -> None:
    failed: Future[int] = Future()
    failed.set_exception(Boom("x"))
    cancelled: Future[int] = Future()
    cancelled.cancel()
    assert Do.of(failed).recover(lambda failure: Do.now(str(failure))).run() == "x"
    with pytest.raises(CancelledError, match="that the run waited for was cancelled"):
        Do.of(cancelled).run()


def test_of_something_else_says_what_to_write() -> None:
    with pytest.raises(
        ArgumentError, match=r"Do.of takes a future or an awaitable, not 3 \(int\); write Do.now"
    ):
        Do.of(3)  # type: ignore[arg-type]  # the misuse that is tested
    with pytest.raises(ArgumentError, match=r"UnitContinuation\.of takes"):
        UnitContinuation.of("a")  # type: ignore[arg-type]  # the misuse that is tested


def test_a_future_of_the_loop_that_a_run_blocks_is_refused() -> None:
    async def main() -> None:
        Do.of(asyncio.get_running_loop().create_future()).run()

    with pytest.raises(NotAwaitableError, match="this run keeps from going on; write await do"):
        asyncio.run(main())


# -- callbacks --------------------------------------------------------------------------------------


def test_the_first_word_of_a_callback_counts() -> None:
    def register(resume: Callable[[int], None], fail: Callable[[Exception], None]) -> None:
        resume(1)
        resume(2)
        fail(Boom("late"))

    assert Do.callback(register).run() == 1


def test_a_callback_may_fail_and_registering_may_raise() -> None:
    def fails(resume: Callable[[int], None], fail: Callable[[Exception], None]) -> None:
        threading.Timer(0.001, fail, [Boom("later")]).start()

    def raises(resume: Callable[[int], None], fail: Callable[[Exception], None]) -> None:
        raise Boom("at once")

    with pytest.raises(Boom, match="later"):
        Do.callback(fails).run()
    with pytest.raises(Boom, match="at once"):
        Do.callback(raises).run()


def test_cancelling_a_run_that_waits_releases_what_it_holds() -> None:
    ledger, reached = Ledger(), threading.Event()
    forever: Do[int] = Do.callback(lambda resume, fail: reached.set())
    both = ledger.resource("r").flat_map(lambda _: gather(forever, ledger.resource("ahead"), forever))
    started = both.start()
    assert reached.wait(10)
    assert started.cancel()
    with pytest.raises(CancelledError):
        started.result(10)
    assert sorted(ledger.events) in (
        ["close ahead", "close r", "open ahead", "open r"],
        ["close r", "open r"],
    )


# -- together ---------------------------------------------------------------------------------------


@every_executor
def test_branches_of_a_gather_wait_together_also_the_second_time(make: Callable[[], Any]) -> None:
    meeting = Meeting(20)
    twice = (meeting.join(i).flat_map(meeting.join).map(str) for i in range(20))
    assert gather(*twice).run(make()) == tuple(map(str, range(20)))


@every_executor
def test_branches_of_nested_gathers_wait_together(make: Callable[[], Any]) -> None:
    meeting = Meeting(4)
    pairs = (gather(meeting.join(i), meeting.join(i + 1)).nested() for i in (0, 2))
    assert gather(*pairs).run(make()) == ((0, 1), (2, 3))


@every_executor
def test_functions_that_wait_do_so_together_and_weights_get_the_same_bits(make: Callable[[], Any]) -> None:
    def losses(meeting: Meeting) -> tuple[wg.DoubleWeight, list[wg.DoubleLayer]]:
        w = settings().double_weight(0.3)

        @wg.differentiable
        async def slow(x: wg.DoubleExpression) -> wg.DoubleLayer:
            await meeting.join(1)
            return wg.exp(wg.lift(x) * w)

        return w, [slow(0.1 * i) for i in range(5)]

    w, parts = losses(Meeting(5))
    values = gather(*(part.train() for part in parts)).run(make())
    alone, apart = losses(Meeting(1))
    expected = gather(*(part.train() for part in apart)).run(wg.run.Sequential(compiled=False))
    assert values == pytest.approx(expected, rel=1e-12)
    assert w.data == pytest.approx(alone.data, rel=1e-12) if make is wg.run.Batched else w.data == alone.data


def test_a_branch_that_has_gone_ahead_fails_in_its_turn() -> None:
    meeting, ledger = Meeting(2), Ledger()
    bad = ledger.resource("b").flat_map(lambda _: meeting.join(1)).flat_map(lambda _: Do.fail(Boom("b")))
    with pytest.raises(Boom, match="b"):
        gather(meeting.join(0).map(lambda _: ledger.note("first")), bad).run()
    assert ledger.events == ["open b", "first", "close b"]


def test_what_depends_on_the_run_keeps_its_turn() -> None:
    w = settings().double_weight(1.0)
    meeting = Meeting(2)
    said = list[str]()

    def loss(name: str) -> Do[float]:
        def heard(value: float) -> float:
            said.append(name)
            return value

        return meeting.join(0).flat_map(lambda _: (w * w).train()).map(heard)

    assert gather(loss("a"), loss("b")).run() == (1.0, 1.0)
    assert said == ["a", "b"]
    assert w.data == pytest.approx(0.6)


# -- inside asyncio ---------------------------------------------------------------------------------


def test_an_awaited_gather_calls_functions_at_the_same_time() -> None:
    together = threading.Barrier(20)

    async def main() -> int:
        return len(await gather(*(Do.delay(lambda: together.wait(10)) for _ in range(20))))

    assert asyncio.run(main()) == 20


def test_asyncio_inside_a_function_of_expressions() -> None:
    w = settings().double_weight(2.0)

    async def main() -> float:
        event, loop = asyncio.Event(), asyncio.get_running_loop()

        @wg.differentiable
        async def slow(x: wg.DoubleExpression) -> wg.DoubleLayer:
            async with asyncio.timeout(10):
                await asyncio.sleep(0.001)
            await event.wait()
            assert asyncio.get_running_loop() is loop
            seen, _ = await gather(wg.lift(x), Do.of(asyncio.sleep(0)))
            return wg.lift(x) * seen

        loop.call_later(0.005, event.set)
        return await slow(w * 1.0).train()

    assert asyncio.run(main()) == 4.0
    assert w.data == pytest.approx(1.8)


def test_a_timeout_of_asyncio_within_a_function() -> None:
    async def body() -> str:
        try:
            async with asyncio.timeout(0.001):
                await asyncio.sleep(10)
        except TimeoutError:
            return "timeout"
        return "none"

    async def main() -> str:
        return await Do.coroutine(body)

    assert asyncio.run(main()) == "timeout"


def test_a_failure_within_a_function_in_asyncio_and_a_wrong_await() -> None:
    class Odd:
        def __await__(self) -> Any:  # Any: the misuse that is tested
            yield 3

    async def body() -> str:
        try:
            await Do.fail(Boom("asked"))
        except Boom as failure:
            said = str(failure)
        try:
            await Odd()
        except NotAwaitableError as failure:
            said += str(failure)[:35]
        raise Boom(said)

    async def main() -> None:
        await Do.coroutine(body)

    with pytest.raises(Boom, match="askedwhat was awaited is 3"):
        asyncio.run(main())


def test_cancelling_the_task_ends_the_functions_of_its_run_first() -> None:
    ledger = Ledger()

    async def main() -> None:
        async def body() -> None:
            try:
                await asyncio.sleep(10)
            finally:
                ledger.note("ended")

        async with asyncio.timeout(0.01):
            await ledger.resource("r").flat_map(lambda _: Do.coroutine(body))

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert ledger.events == ["open r", "ended", "close r"]


# -- UnitContinuation -------------------------------------------------------------------------------


def test_unit_continuations_wait_together() -> None:
    come = list[Callable[[int], None]]()

    def register(resume: Callable[[int], None]) -> None:
        come.append(resume)
        for i, wake in enumerate(come if len(come) == 3 else ()):
            wake(i)

    one = UnitContinuation.callback(register).map(str)
    assert gather(one, one, one).map("".join).run() == "012"


def test_unit_continuations_of_futures_and_awaitables() -> None:
    async def work() -> str:
        return "late"

    assert UnitContinuation.of(work()).run() == "late"
    assert UnitContinuation.of(Do.now(2).start()).flat_map(UnitContinuation.now).run() == 2
    with pytest.raises(Boom):
        UnitContinuation.of(Do.fail(Boom("x")).start()).run()


# -- transactions -----------------------------------------------------------------------------------


def transaction(ledger: Ledger, name: str, vetoes: bool = False) -> Do[None]:
    def prepare() -> None:
        ledger.note(f"prepare {name}")
        if vetoes:
            raise Boom(f"veto of {name}")

    return Do.transaction(
        prepare, partial(ledger.note, f"commit {name}"), partial(ledger.note, f"abort {name}")
    )


@every_executor
def test_a_transaction_commits_with_the_weights_after_resources_are_released(make: Callable[[], Any]) -> None:
    ledger, w = Ledger(), settings().double_weight(1.0)
    seen = list[float]()
    watching = Do.transaction(*(lambda: seen.append(w.data),) * 3)
    gather(ledger.resource("r"), transaction(ledger, "t"), (w * w).train(), watching).run(make())
    assert ledger.events == ["open r", "close r", "prepare t", "commit t"]
    assert seen == [1.0, pytest.approx(0.8)]


@every_executor
def test_a_veto_changes_nothing_and_is_heard_by_all(make: Callable[[], Any]) -> None:
    ledger, w = Ledger(), settings().double_weight(1.0)
    parts = transaction(ledger, "a"), transaction(ledger, "b", vetoes=True), transaction(ledger, "c")
    with pytest.raises(Boom, match="veto of b"):
        gather(*parts, (w * w).train()).run(make())
    assert ledger.events == ["prepare a", "prepare b", "abort c", "abort b", "abort a"]
    assert w.data == 1.0


def test_a_run_that_fails_before_aborts() -> None:
    ledger = Ledger()
    with pytest.raises(Boom, match="x"):
        transaction(ledger, "t").flat_map(lambda _: Do.fail(Boom("x"))).run()
    assert ledger.events == ["abort t"]


def test_a_commit_that_fails_takes_nothing_back() -> None:
    ledger, w = Ledger(), settings().double_weight(1.0)

    def fails() -> None:
        raise Boom("late")

    broken = Do.transaction(lambda: None, fails, lambda: ledger.note("abort"))
    with pytest.raises(Boom, match="late"):
        gather(broken, transaction(ledger, "t"), (w * w).train()).run()
    assert ledger.events == ["prepare t", "commit t"]
    assert w.data == pytest.approx(0.8)


def test_an_optimizer_that_refuses_aborts() -> None:
    ledger = Ledger()

    class Checked(wg.plugins.FailOnNonFinite, SGD): ...

    w = Checked(learning_rate=0.1).double_weight(1.0)
    with pytest.raises(wg.errors.NonFiniteError):
        gather(transaction(ledger, "t"), (w * float("inf")).train()).run()
    assert ledger.events[-1] == "abort t"


@every_executor
def test_a_transaction_that_a_training_meets_votes_before_weights_change(make: Callable[[], Any]) -> None:
    ledger, w = Ledger(), settings().double_weight(1.0)
    vetoes = [False, True]

    @wg.differentiable
    async def met(x: wg.DoubleLayer) -> wg.DoubleLayer:
        await transaction(ledger, "t", vetoes.pop())
        return x * x

    with pytest.raises(Boom, match="veto of t"):
        met(w * 1.0).train().run(make())
    assert ledger.events == ["prepare t", "abort t"] and w.data == 1.0
    met(w * 1.0).train().run(make())
    assert ledger.events[2:] == ["prepare t", "commit t"] and w.data == pytest.approx(0.8)
