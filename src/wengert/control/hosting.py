"""Coroutines of a run that an event loop awaits: each is a task of that loop, so that it may await what asyncio has.

Knows: that the machine hears what the coroutine awaits of it, and answers; that a task which is to end is cancelled
and waited for, unless its loop has stopped.
Refuses to know: what is awaited.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from wengert.control.machine import Bracket, Frame, Instruction, Machine, Settling
from wengert.control.notation import as_do, driving, not_awaitable
from wengert.control.resources import join, release
from wengert.control.waiting import Pending

if TYPE_CHECKING:
    import asyncio

_LOOK: Final = 0.05  # seconds between two looks whether the loop still runs


class Returned:
    """The value with which a coroutine has ended."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


class Hosting:
    """A coroutine, as a task of an event loop."""

    # Any: what passes between a coroutine and its driver
    def __init__(self, coroutine: Coroutine[Any, Any, Any], loop: asyncio.AbstractEventLoop) -> None:
        self.coroutine = coroutine
        self.loop = loop
        self.task: asyncio.Task[None] | None = None
        self.word: Pending[object] = Pending()  # what the coroutine awaits of the run, or `Returned`
        self.answer: asyncio.Future[Any] | None = None  # that the coroutine awaits

    def begin(self, machine: Machine) -> Instruction:
        """Start the task."""
        self.loop.call_soon_threadsafe(partial(self._start, copy_context()))
        return self.listen(machine)

    def listen(self, machine: Machine) -> Instruction:
        """Wait for the next word."""
        machine.frames.append(Listening(self))
        return Settling(self.word)

    def tell(self, machine: Machine, give: Callable[[asyncio.Future[Any]], object]) -> Instruction:
        """Answer, and wait for the next word."""
        answer, self.answer, self.word = self.answer, None, Pending()
        assert answer is not None, "the coroutine has asked"
        self.loop.call_soon_threadsafe(_unless_done, answer, give)
        return self.listen(machine)

    def end(self, stop: BaseException) -> BaseException:
        """Cancel the task and wait for its end, or for that of its loop."""
        word = self.word = Pending()
        try:
            self.loop.call_soon_threadsafe(self._cancel)
        except RuntimeError:  # the loop is closed
            word.stop(stop)
        while not word.wait(_LOOK) and self.loop.is_running():
            pass
        if not word.done:
            self.coroutine.close()
        elif isinstance(word.failure, Exception) and word.failure is not stop:
            return stop if type(word.failure).__name__ == "CancelledError" else join(stop, word.failure)
        return stop

    def _cancel(self) -> None:
        if self.task is None or self.task.done():
            self.word.resume(None)
        else:
            self.task.cancel()

    # -- in the event loop --------------------------------------------------------------------------

    def _start(self, variables: Any) -> None:  # Any: contextvars' Context
        self.task = self.loop.create_task(self._drive(), context=variables)

    async def _drive(self) -> None:
        try:
            value = await self
        except BaseException as failure:
            self.word.stop(failure)
        else:
            self.word.resume(Returned(value))

    def __await__(self) -> Generator[Any, Any, object]:
        move: Callable[[Any], object] = self.coroutine.send
        argument: Any = None
        while True:
            before, driving.event_loop = driving.event_loop, self.loop
            try:
                asked = move(argument)
            except StopIteration as end:
                return end.value
            finally:
                driving.event_loop = before
                argument = None
            try:
                if as_do(asked) is None:
                    if asked is not None and not hasattr(asked, "_asyncio_future_blocking"):
                        raise not_awaitable(asked)
                    argument = yield asked
                else:
                    self.answer = self.loop.create_future()
                    self.word.resume(asked)
                    argument = yield from self.answer
                move = self.coroutine.send
            except BaseException as failure:
                move, argument = self.coroutine.throw, failure


def _unless_done(answer: asyncio.Future[Any], give: Callable[[asyncio.Future[Any]], object]) -> None:
    if answer.done():  # cancelled
        return
    try:
        give(answer)
    except TypeError as refusal:  # of StopIteration, which no future takes
        answer.set_exception(RuntimeError(str(refusal)))


class Listening(Frame):
    """Waits for a word of the coroutine."""

    __slots__ = ("host",)

    def __init__(self, host: Hosting) -> None:
        self.host = host

    def resume(self, machine: Machine) -> Instruction | None:
        word, machine.value = machine.value, None
        if isinstance(word, Returned):
            machine.value = word.value
            return None
        machine.frames.append(Answering(self.host, len(machine.finalizers)))
        wanted: Instruction = as_do(word)
        return wanted

    def abandon(self, machine: Machine, stop: BaseException) -> BaseException:
        return self.host.end(stop)


class Answering(Bracket):
    """Waits for what the coroutine has asked for."""

    __slots__ = ("host",)

    def __init__(self, host: Hosting, mark: int) -> None:
        self.host = host
        self.mark = mark

    def resume(self, machine: Machine) -> Instruction:
        value, machine.value = machine.value, None
        return self.host.tell(machine, lambda answer: answer.set_result(value))

    def handle(self, machine: Machine) -> Instruction:
        machine.release(self.mark)
        failure = machine.caught()
        return self.host.tell(machine, lambda answer: answer.set_exception(failure))

    def abandon(self, machine: Machine, stop: BaseException) -> BaseException:
        return self.host.end(release(machine.finalizers, self.mark, stop))
