"""Runs inside asyncio: the event loop stays free, and cancelling the task cancels the run.

Knows: asyncio. Imported by the first `await` that an event loop drives.
Refuses to know: how a run is stepped.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from wengert.control.do import Do

A = TypeVar("A")


async def in_event_loop(source: Do[A]) -> A:
    """Run `source` on a thread of its own. A cancelled task waits until the run has released everything."""
    loop = asyncio.get_running_loop()
    started = source.start()
    del source  # as below: it may hold the exception
    cancellation: asyncio.CancelledError | None = None
    while True:
        finished = loop.create_future()
        started.add_done_callback(partial(_tell, loop, finished))
        try:
            await finished
            break
        except asyncio.CancelledError as error:
            cancellation = error
            started.cancel()
        except BaseException:  # the coroutine is being closed: nobody can wait any more
            started.cancel()
            raise
    try:
        if cancellation is None:
            return started.result()
        failure = None if started.cancelled() else started.exception()
        raise cancellation if failure is None else failure
    finally:
        del started, cancellation, finished  # the exception's traceback holds this frame
        failure = None


def _tell(loop: asyncio.AbstractEventLoop, finished: asyncio.Future[None], _: Future[A]) -> None:
    loop.call_soon_threadsafe(_wake, finished)


def _wake(finished: asyncio.Future[None]) -> None:
    if not finished.done():
        finished.set_result(None)
