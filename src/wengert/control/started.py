"""How a description is run on a thread of its own, and inside asyncio.

Knows: that a started run is cancelled when all is released, that a cancelled task waits for that.
Refuses to know: the kinds of description, and how a machine performs their steps.
"""

from __future__ import annotations

import sys
from concurrent.futures import CancelledError, Future
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from wengert.control.context import Run
from wengert.control.running import Description, execute
from wengert.control.waiting import wake

if TYPE_CHECKING:
    import asyncio  # loaded by whoever has an event loop: it takes as long to import as all of this library

A = TypeVar("A")


def start(source: Description[A], run: Run) -> Future[A]:
    """Run `source` on a thread of its own, as the whole of `run`."""
    future: Started[A] = Started(run)
    work = copy_context().run  # the thread sees a copy of this one's context variables
    Thread(target=work, args=(_work, source, run, future), name="wengert-run").start()
    return future


class Started(Future[A]):
    """The future of a started run. `cancel()` works while it runs; it is cancelled when all is released.

    For `concurrent.futures` it is pending until its outcome is known: there, only then can it be cancelled.
    """

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run

    def cancel(self) -> bool:
        """Ask the run to stop before its next step; False if its outcome is known already."""
        return self._run.cancel()

    def running(self) -> bool:
        return not self.done()

    def finish_cancelled(self) -> None:
        """The run has stopped and released everything."""
        super().cancel()
        self.set_running_or_notify_cancel()


def _work(source: Description[A], run: Run, future: Started[A]) -> None:
    try:
        value = execute(source, run)
    except CancelledError as failure:
        if run.cancelled:
            future.finish_cancelled()
        else:  # the user's own: a future that the run waited for was cancelled
            future.set_exception(failure)
    except BaseException as failure:
        future.set_exception(failure)
    else:
        future.set_result(value)
    finally:
        del source, future  # the exception's traceback holds this frame, and the future the exception


async def in_event_loop(source: Description[A], loop: asyncio.AbstractEventLoop) -> A:
    """Run `source` on a thread of its own. A cancelled task waits until the run has released everything."""
    cancelled: type[BaseException] = sys.modules["asyncio"].CancelledError
    run = Run()
    run.event_loop = loop
    started = start(source, run)
    del source  # as below: it may hold the exception
    cancellation: BaseException | None = None
    while True:
        finished = loop.create_future()
        started.add_done_callback(partial(_tell, loop, finished))
        try:
            await finished
            break
        except cancelled as error:
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
    loop.call_soon_threadsafe(wake, finished)
