"""`await` inside asyncio: the loop stays free, and cancelling the task cancels the run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from wengert.control import Do, gather

from .test_start import Gate
from .tracking import Boom, Ledger, Other


def test_d88_await_leaves_the_event_loop_free() -> None:
    gate = Gate()

    async def main() -> tuple[str, bool]:
        task = asyncio.create_task(waiting())
        while not gate.reached.is_set():
            await asyncio.sleep(0.001)
        gate.go.set()
        return await task

    async def waiting() -> tuple[str, bool]:
        return await gather(Do.now("value"), gate.step())

    assert asyncio.run(main()) == ("value", True)


def test_failures_reach_the_awaiting_task() -> None:
    failure = Boom("x")

    async def main() -> None:
        await Do.fail(failure)

    with pytest.raises(Boom) as caught:
        asyncio.run(main())
    assert caught.value is failure


def test_awaits_run_at_the_same_time() -> None:
    together = threading.Barrier(2)

    async def one() -> int:
        return await Do.delay(lambda: together.wait(10))

    async def main() -> list[int]:
        return sorted(await asyncio.gather(one(), one()))

    assert asyncio.run(main()) == [0, 1]


async def cancel_at(gate: Gate, source: Do[object], times: int = 1) -> None:
    async def waiting() -> object:
        return await source

    task = asyncio.create_task(waiting())
    while not gate.reached.is_set():
        await asyncio.sleep(0.001)
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not task.done()
    gate.go.set()
    await task


@pytest.mark.parametrize("times", [1, 3])
def test_d18_cancelling_the_task_cancels_the_run_and_waits_for_its_releases(times: int) -> None:
    gate, ledger = Gate(), Ledger()
    after: list[object] = []
    source = ledger.resource("r").flat_map(lambda _: gate.step()).map(after.append)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel_at(gate, source, times))
    assert ledger.events == ["open r", "close r"]
    assert after == []


def test_a_release_that_fails_while_cancelling_reaches_the_task() -> None:
    gate, ledger = Gate(), Ledger(r=Other("exit"))
    with pytest.raises(Other):
        asyncio.run(cancel_at(gate, ledger.resource("r").flat_map(lambda _: gate.step())))


def test_timeouts_of_asyncio_work() -> None:
    gate, ledger = Gate(), Ledger()
    gate.go.set()
    slow = Do.delay(lambda: threading.Event().wait(0.02))

    def forever(_: object) -> Do[object]:
        return slow.flat_map(forever)

    async def main() -> None:
        async with asyncio.timeout(0.01):
            await ledger.resource("r").flat_map(forever)

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert ledger.events == ["open r", "close r"]


def test_a_closed_coroutine_cancels_its_run() -> None:
    gate, ledger = Gate(), Ledger()
    closed = threading.Event()
    source = ledger.resource("r").flat_map(lambda _: gate.step()).map(lambda _: ledger.note("next"))

    async def waiting() -> None:
        await source

    async def main() -> None:
        coroutine = waiting()
        coroutine.send(None)
        assert await asyncio.to_thread(gate.reached.wait, 10)
        coroutine.close()
        gate.go.set()
        while ledger.open:
            await asyncio.sleep(0.001)
        closed.set()

    asyncio.run(main())
    assert closed.is_set()
    assert ledger.events == ["open r", "close r"]


@pytest.mark.slow
def test_asyncio_is_not_imported_before_it_is_needed() -> None:
    script = (
        "import sys; from wengert.control import Do; "
        "body = lambda: run(); exec('async def run(): return await Do.now(1)'); "
        "Do.coroutine(body).start().result(); print('asyncio' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
