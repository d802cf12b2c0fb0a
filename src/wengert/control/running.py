"""How a description is run: on this thread, on a thread of its own, inside asyncio.

Knows: that a run is closed however it ends, that a started one is cancelled when all is released, that a cancelled task
waits for that.
Refuses to know: the kinds of description, and how a machine performs their steps.
"""

from __future__ import annotations

import sys
from concurrent.futures import CancelledError, Future
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from wengert.control.context import Executor, Run, chosen
from wengert.control.machine import Instruction, Machine
from wengert.control.resources import RunCancelled

if TYPE_CHECKING:
    import asyncio  # loaded by whoever has an event loop: it takes as long to import as all of this library

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


class Description(Instruction, Protocol[A_co]):
    """A `Do`, as whoever runs it sees it."""

    def run(self, executor: Executor | None = None) -> A_co: ...


class Unanswered(NamedTuple):
    """The mark of an answer that needs a machine; `by`: the executor of its run, None for the usual one."""

    by: Executor | None = None


UNANSWERED: Final = Unanswered()


def execute(source: Description[A], run: Run) -> A:
    """Run `source` to its end in this thread, as the whole of `run`."""
    run.source = source
    try:
        value: A = Machine(run).complete(source)
        return value
    except RunCancelled as cancelled:  # after the last step, when nothing was left to abandon
        raise cancelled.outcome() from None
    finally:
        del source  # see Machine.complete
        try:
            run.close()
        except BaseException:  # an interrupt: what it has left is closed now
            run.close()
            raise


def answered(
    method: str, arguments: tuple[object, ...], executor: Executor | None
) -> Any:  # Any: as the question
    """The answer to a question that is a whole run, where the executor has it at once; else an `Unanswered`.

    The executor's method `at_once` has no effect, and answers nothing that may wait: a run with a machine takes 5 us
    more, which is as much as a small prediction.
    """
    at_once = getattr(chosen(executor), "at_once", None)
    return UNANSWERED if at_once is None else at_once(method, *arguments)


def running_here() -> bool:
    """True if this thread is in the middle of a run."""
    frame = sys._getframe()
    while frame.f_code not in _RUNNING:
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return True


_RUNNING: Final = (execute.__code__, answered.__code__)


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
    loop.call_soon_threadsafe(_wake, finished)


def _wake(finished: asyncio.Future[None]) -> None:
    if not finished.done():
        finished.set_result(None)
