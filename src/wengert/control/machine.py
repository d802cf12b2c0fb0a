"""The abstract machine that runs a `Do` with an explicit stack of frames, so that depth costs memory only.

Knows: steps, frames, where a failure goes, when opened things are let go.
Refuses to know: the kinds of `Do` (each begins itself), expressions, threads.

A step returns the instruction to go on with, or `None` when `machine.value` or `machine.failure` is the news.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any, Protocol

from wengert.control.context import Context, Run
from wengert.control.notation import FOREIGN, driving, lacks_event_loop, not_awaitable, running_event_loop
from wengert.control.resources import Finalizer, RunCancelled, SharedValue, join, release
from wengert.errors import NotAwaitableError, combine

# Any throughout this module: the stack mixes the types of all parts of a Do, and each frame hands on what it was
# given; the constructors in do.py are where the types are checked.


class Instruction(Protocol):
    """A `Do`, as the machine sees it."""

    def _begin(self, machine: Machine, /) -> Instruction | None:
        """Give `machine` its value or failure, or the instruction to go on with."""


class Frame:
    """A continuation on the stack: resumed with a value, or offered a failure."""

    __slots__ = ()

    def resume(self, machine: Machine) -> Instruction | None:
        """Go on with `machine.value`."""
        return None

    def handle(self, machine: Machine) -> Instruction | None:
        """Go on after `machine.failure`: take it (`machine.caught()`), or leave it for the next frame."""
        return None

    def abandon(self, machine: Machine, stop: BaseException) -> BaseException:
        """End without a value; returns `stop`, joined by what was raised here."""
        return stop


class Machine:
    """One thread of steps within a run."""

    __slots__ = ("context", "failure", "finalizers", "following", "frames", "run", "value")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.context = Context(run)
        self.following: Instruction | None = None
        self.frames: list[Frame] = []
        self.finalizers: list[Finalizer] = []
        self.value: Any = None  # on its way to the topmost frame, and only that frame knows its type
        self.failure: Exception | None = None

    def complete(self, source: Instruction) -> Any:
        """Run `source`, release everything and end the run; its value."""
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
            return self.value
        try:
            raise outcome
        finally:
            del outcome

    def evaluate(self, source: Instruction) -> None:
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

    def next(self) -> Instruction | None:
        """The first instruction: the source, or after a failure the one that a frame makes of it."""
        try:
            return self.unwind() if self.failure is not None else self.following
        finally:
            self.following = None

    def advance(self, current: Instruction | None) -> None:
        """Run the loop. Measured: about 0.1 us a turn besides what the step itself does."""
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

    def unwind(self) -> Instruction | None:
        """Hand `failure` to the frames, topmost first, until one takes it or none is left."""
        frames = self.frames
        while frames:
            following = frames.pop().handle(self)
            if self.failure is None:
                return following
        return None

    def fail(self, failure: Exception) -> Instruction | None:
        """A step's way to fail without raising: no traceback grows and no frame is tied to the exception."""
        self.failure = failure
        del failure
        return self.unwind()

    def wait_for(self, shared: Instruction, cell: SharedValue) -> Instruction:
        """Refuse a shared `Do` that is being computed: on one machine only a circle leads here."""
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


class Recovering(Frame):
    """`recover`: what was opened since is let go, then the handler decides."""

    __slots__ = ("decide", "mark")

    def __init__(self, decide: Callable[[Exception], Instruction], mark: int) -> None:
        self.decide = decide
        self.mark = mark

    def handle(self, machine: Machine) -> Instruction:
        machine.release(self.mark)
        return self.decide(machine.caught())


class Nesting(Frame):
    """`nested`: what was opened since is let go as soon as the value is known.

    Of a failure whoever takes it lets go first of all that was opened since.
    """

    __slots__ = ("mark",)

    def __init__(self, mark: int) -> None:
        self.mark = mark

    def resume(self, machine: Machine) -> Instruction | None:
        machine.release(self.mark)
        return None if machine.failure is None else machine.unwind()


class Sharing(Frame):
    """The first user of a shared `Do` computes it; its outcome and what it opened go to the cell."""

    __slots__ = ("cell", "mark")

    def __init__(self, cell: SharedValue, mark: int) -> None:
        self.cell = cell
        self.mark = mark

    def resume(self, machine: Machine) -> None:
        self.cell.settle(machine.value, machine.finalizers, self.mark)

    def handle(self, machine: Machine) -> None:
        machine.release(self.mark)
        self.cell.known, self.cell.failure = True, machine.failure


class Gathering(Frame):
    """`gather`, one branch after the other; a failed branch lets go of its own and does not stop the next."""

    __slots__ = ("failures", "mark", "parts", "values")
    mark: int  # of the branch that runs

    def __init__(self, parts: tuple[Instruction, ...]) -> None:
        self.parts = parts
        self.values: list[object] = []
        self.failures: list[Exception] = []

    def resume(self, machine: Machine) -> Instruction | None:
        self.values.append(machine.value)
        following = self.proceed(machine)
        return following if machine.failure is None else machine.unwind()

    def handle(self, machine: Machine) -> Instruction | None:
        machine.release(self.mark)
        self.failures.append(machine.caught())
        return self.proceed(machine)

    def proceed(self, machine: Machine) -> Instruction | None:
        done = len(self.values) + len(self.failures)
        if done < len(self.parts):
            self.mark = len(machine.finalizers)
            machine.frames.append(self)
            return self.parts[done]
        if self.failures:
            machine.failure = combine(self.failures)
        else:
            machine.value = tuple(self.values)
        return None


class Scoping(Frame):
    """`within`: the environment of before is back for what comes after."""

    __slots__ = ("before",)

    def __init__(self, before: Context) -> None:
        self.before = before

    def resume(self, machine: Machine) -> None:
        machine.context = self.before

    def handle(self, machine: Machine) -> None:
        machine.context = self.before


class Asking(Frame):
    """A program: it yields what it wants, and is sent the value or thrown the failure."""

    __slots__ = ("context", "mark", "program")
    mark: int  # of what it waits for

    def __init__(self, program: Generator[Any, Any, Any] | Coroutine[Any, Any, Any]) -> None:
        self.program = program

    def resume(self, machine: Machine) -> Instruction | None:
        return self.step(machine, self.program.send, machine.value)

    def handle(self, machine: Machine) -> Instruction | None:
        machine.release(self.mark)
        return self.step(machine, self.program.throw, machine.caught())

    def abandon(self, machine: Machine, stop: BaseException) -> BaseException:
        try:
            stop = release(machine.finalizers, self.mark, stop)
            try:
                self.program.close()
            except BaseException as another:
                stop = join(stop, another)
            return stop
        finally:
            del stop  # its traceback may hold this frame

    def step(self, machine: Machine, move: Callable[[Any], object], argument: object) -> Instruction | None:
        try:
            asked = move(argument)
        except StopIteration as end:
            machine.value = end.value
            return None
        finally:
            del argument  # a failure that comes straight back would hold this frame, and this frame it
        self.mark = len(machine.finalizers)
        machine.frames.append(self)
        wanted = as_do(asked)
        return machine.fail(not_awaitable(asked)) if wanted is None else wanted


class Awaiting(Asking):
    """A coroutine: the same, and while it moves, its `await`s know that the machine drives them."""

    __slots__ = ()

    def step(self, machine: Machine, move: Callable[[Any], object], argument: object) -> Instruction | None:
        before = driving.event_loop
        try:
            driving.event_loop = running_event_loop()
            return Asking.step(self, machine, move, argument)
        except RuntimeError as failure:
            if lacks_event_loop(failure):
                raise NotAwaitableError(FOREIGN) from failure
            raise
        finally:
            driving.event_loop = before
            del argument  # see Asking.step


class Returning(Frame):
    """The end of what follows a question: the question goes on, and what followed has made the value of the run."""

    __slots__ = ("question",)

    def __init__(self, question: Frame) -> None:
        self.question = question

    def resume(self, machine: Machine) -> Instruction | None:
        machine.frames.append(Instead(machine.value))
        machine.value = None
        return self.question.resume(machine)

    def handle(self, machine: Machine) -> Instruction | None:
        return self.question.handle(machine)

    def abandon(self, machine: Machine, stop: BaseException) -> BaseException:
        return self.question.abandon(machine, stop)


class Instead(Frame):
    """A value in place of the one that comes."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def resume(self, machine: Machine) -> None:
        machine.value = self.value


def as_do(asked: object) -> Any:
    """The `Do` that an awaited object stands for; `None` if it is not awaitable in a run."""
    stands_for = getattr(type(asked), "as_do", None)
    return None if stands_for is None else stands_for(asked)
