"""The machine: runs any `Do` with a stack of frames of its own, so that depth costs memory only.

Knows: steps, frames, where a failure goes, when opened things are let go.
Refuses to know: the kinds of `Do` (each begins itself), expressions, threads, event loops.

A step returns the `Do` to go on with, or `None` when `machine.value` or `machine.failure` is the news.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar, cast

from wengert.control.context import Context, Executor, Run, RunCancelled
from wengert.control.resources import Cell, Finalizer, join, release

if TYPE_CHECKING:
    from wengert.control.do import Do

A = TypeVar("A")


class Frame:
    """What waits for a value, and may take a failure."""

    __slots__ = ()

    def resume(self, machine: Machine) -> Do[Any] | None:  # Any: the stack mixes all types
        """Go on with `machine.value`."""
        return None

    def handle(self, machine: Machine) -> Do[Any] | None:  # Any: the stack mixes all types
        """Go on after `machine.failure`: take it (`machine.caught()`), or leave it for the next frame."""
        return None

    def abandon(self, machine: Machine, stop: BaseException) -> BaseException:
        """The run ends without a value for this frame; returns `stop`, joined by what was raised here."""
        return stop


class Machine:
    """One thread of steps within a run."""

    __slots__ = ("context", "failure", "finalizers", "following", "frames", "run", "value")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.context = Context(run)
        self.following: Do[Any] | None = None  # Any: the stack mixes all types
        self.frames: list[Frame] = []
        self.finalizers: list[Finalizer] = []
        self.value: Any = None  # Any: on its way to the topmost frame, and only that frame knows its type
        self.failure: Exception | None = None

    def complete(self, source: Do[A]) -> A:
        """The value of `source`, after all is released; the end of the run."""
        outcome: BaseException | None
        try:
            self.evaluate(source)
            outcome = release(self.finalizers, 0, self.failure)
        except BaseException as stop:
            outcome = self.abandon(stop)
        finally:
            del source  # it may hold the very exception whose traceback is going to hold this frame
            self.failure = None
        if outcome is None:
            self.run.succeed()
            return cast(A, self.value)
        try:
            raise outcome
        finally:
            del outcome

    def evaluate(self, source: Do[Any]) -> None:  # Any: the value goes to `machine.value`
        """Step until no frame is left; then `value` is known, or `failure`."""
        self.following = source
        del source
        while True:
            try:
                # No local names what is stepped: the traceback of a failure holds this frame, and what
                # a handler makes of the failure may hold the failure.
                self.advance(self.next())
                return
            except Exception as failure:
                if self.run.cancelled:
                    raise RunCancelled from failure
                self.failure = failure

    def next(self) -> Do[Any] | None:  # Any: the stack mixes all types
        """What the first turn begins with: the source, and after a failure what the frames make of that."""
        try:
            return self.unwind() if self.failure is not None else self.following
        finally:
            self.following = None

    def advance(self, current: Do[Any] | None) -> None:  # Any: the stack mixes all types
        """The loop. Measured: about 0.1 us a turn besides what the step itself does."""
        run, frames = self.run, self.frames
        while True:
            if run.cancelled and not (run.settled and current is None and not frames):
                raise RunCancelled
            if current is not None:
                current = current._begin(self)
            elif frames:
                current = frames.pop().resume(self)
            else:
                return

    def unwind(self) -> Do[Any] | None:  # Any: the stack mixes all types
        """Hand `failure` to the frames, topmost first, until one takes it or none is left."""
        frames = self.frames
        while frames:
            following = frames.pop().handle(self)
            if self.failure is None:
                return following
        return None

    def fail(self, failure: Exception) -> Do[Any] | None:  # Any: the stack mixes all types
        """A step's way to fail without raising: no traceback grows and no frame is tied to the exception."""
        self.failure = failure
        del failure
        return self.unwind()

    def wait_for(self, shared: Do[Any], cell: Cell) -> Do[Any]:  # Any: the stack mixes all types
        """What to do about a shared `Do` that is being computed: alone, only a circle can lead here."""
        raise RecursionError("a shared Do waits for itself: its own computation uses it")

    def caught(self) -> Exception:
        """Take the failure that is being handed around; the run goes on."""
        assert self.failure is not None
        try:
            return self.failure
        finally:
            self.failure = None

    def release(self, mark: int) -> None:
        """Let go of what was opened above `mark`; `failure` is seen by it and may grow by it."""
        outcome = release(self.finalizers, mark, self.failure)
        if outcome is None or isinstance(outcome, Exception):
            self.failure = outcome
            del outcome  # frames that its traceback holds hold this one
        else:
            try:
                raise outcome
            finally:
                del outcome

    def abandon(self, stop: BaseException) -> BaseException:
        """An interrupt or a cancellation: close what waits and let go of everything, then pass it on."""
        try:
            while self.frames:
                try:
                    while self.frames:
                        stop = self.frames.pop().abandon(self, stop)
                except BaseException as another:
                    stop = join(stop, another)
            stop = release(self.finalizers, 0, stop)
            return stop.outcome() if isinstance(stop, RunCancelled) else stop
        finally:
            del stop  # its traceback may hold this frame


def execute(source: Do[A], run: Run) -> A:
    """Run `source` to its end in this thread, as the whole of `run`."""
    run.source = source
    try:
        return Machine(run).complete(source)
    except RunCancelled as cancelled:  # after the last step, when nothing was left to abandon
        raise cancelled.outcome() from None
    finally:
        del source  # see Machine.complete
        try:
            run.close()
        except BaseException:  # an interrupt: what it has left is closed now
            run.close()
            raise


def running_here() -> bool:
    """Whether this thread is in the middle of a run."""
    frame = sys._getframe()
    while frame.f_code is not execute.__code__:
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return True


def execute_with(source: Do[A], executor: Executor | None) -> A:
    """Run `source` to its end in this thread, as a run of its own."""
    try:
        return execute(source, Run(executor))
    finally:
        del source  # see Machine.complete
