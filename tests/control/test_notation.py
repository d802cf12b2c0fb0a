"""The `async def` notation inside a run."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from concurrent.futures import CancelledError
from functools import partial
from types import TracebackType
from typing import Any

import pytest

from wengert.control import Awaits, Context, Do, Run, Steps, await_here, gather
from wengert.errors import NotAwaitableError

from .tracking import Boom, Ledger, Other


class Stands:
    """What a layer is to this floor: something that stands for a `Do` in a run."""

    def __init__(self, value: int) -> None:
        self.value = value

    def as_do(self) -> Do[int]:
        if self.value < 0:
            raise Boom("cannot stand")
        return Do.delay(lambda: self.value)

    def __await__(self) -> Generator[Any, Any, int]:  # Any: as in Do
        return await_here(self)


def test_await_gives_values_of_all_kinds() -> None:
    async def body() -> tuple[int, str, tuple[int, int]]:
        return await Stands(1), await Do.now("two"), await gather(Stands(3), Do.now(4))

    assert Do.coroutine(body).run() == (1, "two", (3, 4))
    awaited: Awaits[int] = Stands(5)
    assert gather(awaited).run() == (5,)


def test_d46_the_function_starts_afresh_in_each_run() -> None:
    begun: list[int] = []

    async def body() -> int:
        begun.append(1)
        return await Do.now(len(begun))

    source = Do.coroutine(body)
    assert (source.run(), source.run(), begun) == (1, 2, [1, 1])


def test_d46_loops_recursion_try_and_with_work_around_await() -> None:
    ledger = Ledger()

    async def total(n: int) -> int:
        return 0 if n == 0 else n + await Do.coroutine(partial(total, n - 1))

    async def body() -> list[object]:
        seen: list[object] = [await Do.now(n) for n in range(3)]
        with ledger.resource("with").run() as opened:
            seen.append(opened.is_open)
            try:
                await Do.fail(Boom("x"))
            except Boom as failure:
                seen.append(str(failure))
            else:
                seen.append("not reached")
            finally:
                seen.append(await Do.now("finally"))
        seen.append(await Do.coroutine(partial(total, 500)))
        return seen

    assert Do.coroutine(body).run() == [0, 1, 2, True, "x", "finally", 125_250]


def test_plain_coroutines_and_async_with_and_async_for_work_inside() -> None:
    class Manager:
        async def __aenter__(self) -> int:
            return await Do.now(1)

        async def __aexit__(
            self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
        ) -> None:
            await Do.now(None)

    async def numbers() -> Any:  # Any: an asynchronous iterator
        for n in range(3):
            yield await Do.now(n)

    async def helper() -> int:
        return await Do.now(10)

    async def body() -> int:
        async with Manager() as one:
            total: int = sum([n async for n in numbers()])
            return one + await helper() + total

    assert Do.coroutine(body).run() == 14


def test_what_was_awaited_stays_open_until_the_run_ends() -> None:
    ledger = Ledger()

    async def body() -> list[str]:
        await ledger.resource("a")
        await ledger.resource("b").nested()
        return ledger.open

    assert Do.coroutine(body).run() == ["a"]
    assert ledger.open == []


def test_a_failing_await_lets_go_of_its_own_before_the_handler_runs() -> None:
    ledger = Ledger(inner=Other("exit"))

    async def body() -> tuple[int, list[str]]:
        await ledger.resource("held")
        try:
            await ledger.resource("inner").map(lambda _: 1 // 0)
        except ExceptionGroup as failures:
            return len(failures.exceptions), ledger.open
        raise AssertionError

    assert Do.coroutine(body).run() == (2, ["held"])


def test_an_exception_in_the_function_is_the_failure() -> None:
    async def body() -> int:
        await Do.now(1)
        raise Boom("in body")

    assert str(Do.coroutine(body).recover(Do.now).run()) == "in body"


def test_as_do_that_raises_fails_at_the_await() -> None:
    async def body() -> str:
        try:
            return str(await Stands(-1))
        except Boom as failure:
            return str(failure)

    assert Do.coroutine(body).run() == "cannot stand"


@pytest.mark.parametrize("value", [(1, 2), "text", None, 3])
def test_d45_awaiting_a_plain_value_is_a_type_error(value: Any) -> None:  # Any: the misuse that is tested
    async def body() -> object:
        return await value

    with pytest.raises(TypeError, match="can't be used in 'await' expression"):
        Do.coroutine(body).run()


@pytest.mark.parametrize("seconds", [0, 1])
@pytest.mark.parametrize("inside_asyncio", [False, True])
def test_d45_awaiting_asyncio_is_a_type_error_that_says_so(seconds: int, inside_asyncio: bool) -> None:
    async def body() -> None:
        await asyncio.sleep(seconds)

    async def main() -> None:
        Do.coroutine(body).run()

    with pytest.raises(NotAwaitableError, match="only an event loop can give what was awaited inside a run"):
        asyncio.run(main()) if inside_asyncio else Do.coroutine(body).run()


def test_d45_the_error_arrives_at_the_await() -> None:
    class Odd:
        def __await__(self) -> Generator[Any, Any, str]:  # Any: the misuse that is tested
            answer: str = yield "odd"
            return answer

    async def body() -> str:
        try:
            return await Odd()
        except NotAwaitableError as failure:
            return str(failure)

    assert Do.coroutine(body).run().startswith("what was awaited is 'odd' (str), not a Do; await a layer")


def test_another_runtime_error_stays_what_it_is() -> None:
    async def body() -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match=r"^mine$"):
        Do.coroutine(body).run()


def test_an_event_loop_inside_a_run_drives_its_own_awaits() -> None:
    async def inner() -> int:
        await asyncio.sleep(0)
        return await Do.now(1) + await gather(Do.now(2)).map(sum)

    async def body() -> int:
        return asyncio.run(inner()) + await Do.now(10)

    assert Do.coroutine(body).run() == 13


def test_a_run_inside_an_event_loop_drives_its_own_awaits() -> None:
    async def body() -> int:
        return await Do.now(1) + Do.coroutine(other).run() + await Do.now(3)

    async def other() -> int:
        return await Do.now(20)

    async def main() -> int:
        here = Do.coroutine(body).run()
        return here + await Do.now(100)

    assert asyncio.run(main()) == 124


def test_nobody_drives() -> None:
    async def body() -> int:
        return await Do.now(1)

    coroutine = body()
    with pytest.raises(
        NotAwaitableError, match=r"nothing drives this await of <Do: Now> .* use \.run\(\) here"
    ):
        coroutine.send(None)


def test_a_coroutine_is_closed_when_its_run_ends_early() -> None:
    ledger = Ledger()

    def cancel(context: Context) -> Steps[None]:
        context.run.cancel()
        yield Do.now(None)

    async def inner(stop: Do[None]) -> None:
        with ledger.resource("with").run():
            try:
                await stop
            finally:
                ledger.note("finally")

    async def outer(stop: Do[None]) -> None:
        try:
            await Do.coroutine(partial(inner, stop))
        finally:
            ledger.note("outer")

    for stop, kind in ((Do.program(cancel), CancelledError), (Do.delay(interrupt), KeyboardInterrupt)):
        ledger.events.clear()
        with pytest.raises(kind):
            Do.coroutine(partial(outer, stop)).run()
        assert ledger.events[-3:] == ["finally", "close with", "outer"]


def interrupt() -> None:
    raise KeyboardInterrupt


def test_the_run_is_the_same_throughout() -> None:
    def run_of(context: Context) -> Steps[Run]:
        yield Do.now(None)
        return context.run

    async def body() -> tuple[Run, Run]:
        return await gather(Do.program(run_of), Do.coroutine(inner))

    async def inner() -> Run:
        return await Do.program(run_of)

    first, second = Do.coroutine(body).run()
    assert first is second
