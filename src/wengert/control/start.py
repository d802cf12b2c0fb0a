"""`start`: a run on a thread of its own, and the future that stands for it.

Knows: threads, context variables, how cancelling the future becomes cancelling the run.
Refuses to know: how the run is stepped, event loops.
"""

from __future__ import annotations

from concurrent.futures import CancelledError, Future
from contextvars import copy_context
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from wengert.control.context import Executor, Run
from wengert.control.machine import execute

if TYPE_CHECKING:
    from wengert.control.do import Do

A = TypeVar("A")


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


def start(source: Do[A], executor: Executor | None) -> Future[A]:
    """Run `source` on a new thread, which sees a copy of this thread's context variables."""
    run = Run(executor)
    future: Started[A] = Started(run)
    work = copy_context().run
    Thread(target=work, args=(_work, source, run, future), name="wengert-run").start()
    return future


def _work(source: Do[A], run: Run, future: Started[A]) -> None:
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
