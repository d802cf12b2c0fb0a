"""The frames that a run's stack can hold besides `map` and `flat_map`, which are their own frames.

Knows: scopes of resources, recovery, sharing, `gather`, programs that ask step by step.
Refuses to know: how the machine turns, and what the programs ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any

from wengert.control.context import Context
from wengert.control.machine import Frame, Machine
from wengert.control.notation import FOREIGN, driving, lacks_event_loop, not_awaitable, running_event_loop
from wengert.control.resources import Cell, join, release
from wengert.errors import NotAwaitableError, combine

if TYPE_CHECKING:
    from wengert.control.do import Do

# Any throughout this module: a stack of frames mixes the types of all parts of a Do, and each frame
# hands on what it was given; the constructors in kinds.py are where the types are checked.


class Recovering(Frame):
    """`recover`: what was opened since is let go, then the handler decides."""

    __slots__ = ("decide", "mark")

    def __init__(self, decide: Callable[[Exception], Do[Any]], mark: int) -> None:
        self.decide = decide
        self.mark = mark

    def handle(self, machine: Machine) -> Do[Any]:
        machine.release(self.mark)
        return self.decide(machine.caught())


class Nesting(Frame):
    """`nested`: what was opened since is let go as soon as the value is known.

    Of a failure whoever takes it lets go first of all that was opened since.
    """

    __slots__ = ("mark",)

    def __init__(self, mark: int) -> None:
        self.mark = mark

    def resume(self, machine: Machine) -> Do[Any] | None:
        machine.release(self.mark)
        return None if machine.failure is None else machine.unwind()


class Sharing(Frame):
    """The first user of a shared `Do` computes it; its outcome and what it opened go to the cell."""

    __slots__ = ("cell", "mark")

    def __init__(self, cell: Cell, mark: int) -> None:
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

    def __init__(self, parts: tuple[Do[Any], ...]) -> None:
        self.parts = parts
        self.values: list[object] = []
        self.failures: list[Exception] = []

    def resume(self, machine: Machine) -> Do[Any] | None:
        self.values.append(machine.value)
        following = self.proceed(machine)
        return following if machine.failure is None else machine.unwind()

    def handle(self, machine: Machine) -> Do[Any] | None:
        machine.release(self.mark)
        self.failures.append(machine.caught())
        return self.proceed(machine)

    def proceed(self, machine: Machine) -> Do[Any] | None:
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

    def resume(self, machine: Machine) -> Do[Any] | None:
        return self.step(machine, self.program.send, machine.value)

    def handle(self, machine: Machine) -> Do[Any] | None:
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

    def step(self, machine: Machine, move: Callable[[Any], object], argument: object) -> Do[Any] | None:
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

    def step(self, machine: Machine, move: Callable[[Any], object], argument: object) -> Do[Any] | None:
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

    def resume(self, machine: Machine) -> Do[Any] | None:
        machine.frames.append(Instead(machine.value))
        machine.value = None
        return self.question.resume(machine)

    def handle(self, machine: Machine) -> Do[Any] | None:
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


def as_do(asked: object) -> Do[Any] | None:
    """The `Do` that an awaited object stands for; `None` if it is not awaitable in a run."""
    stands_for = getattr(type(asked), "as_do", None)
    return None if stands_for is None else stands_for(asked)
