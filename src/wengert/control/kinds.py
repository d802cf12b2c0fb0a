"""The kinds of `Do`, and how each begins on the machine.

Knows: what each kind keeps, and what it is to the machine: a value, a failure, a frame with a source below it.
Refuses to know: how users name them, numbers, graphs, executors, threads; nothing here happens before a run.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager
from types import CoroutineType, TracebackType
from typing import Any, Never, TypeVar

from wengert.control.context import Context
from wengert.control.do import Do, Steps
from wengert.control.frames import Asking, Awaiting, Nesting, Recovering, Returning, Scoping, Sharing
from wengert.control.machine import Frame, Machine
from wengert.control.notation import described, not_awaitable
from wengert.control.resources import Cell, Exit

A = TypeVar("A")
B = TypeVar("B")
A_co = TypeVar("A_co", covariant=True)

# Any throughout this module: `_begin` answers to the machine, whose stack mixes all types.


class Now(Do[A]):
    __slots__ = ("value",)

    def __init__(self, value: A) -> None:
        self.value = value

    def _begin(self, machine: Machine) -> None:
        machine.value = self.value


class Fail(Do[Never]):
    __slots__ = ("exception", "traceback")

    def __init__(self, exception: Exception) -> None:
        self.exception = exception
        self.traceback: TracebackType | None = exception.__traceback__

    def _begin(self, machine: Machine) -> Do[Any] | None:
        try:
            # Each raise lengthens the traceback of the one exception object; a thousand runs must not.
            return machine.fail(self.exception.with_traceback(self.traceback))
        finally:
            del self  # from Python 3.12 on a frame of the traceback may hold this one

    def __reduce__(self) -> tuple[type[Fail], tuple[Exception]]:
        return Fail, (self.exception,)  # tracebacks cannot be pickled


class Delay(Do[A]):
    __slots__ = ("make",)

    def __init__(self, make: Callable[[], A]) -> None:
        self.make = make

    def _begin(self, machine: Machine) -> None:
        machine.value = self.make()


class Defer(Do[A]):
    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Do[A]]) -> None:
        self.make = make

    def _begin(self, machine: Machine) -> Do[A]:
        following = self.make()
        if isinstance(following, Do):
            return following
        raise _no_do(following, "defer", self.make)


class Resource(Do[A]):
    __slots__ = ("make",)

    def __init__(self, make: Callable[[], AbstractContextManager[A]]) -> None:
        self.make = make

    def _begin(self, machine: Machine) -> None:
        manager = self.make()
        kind = type(manager)
        if not (hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
            raise TypeError(
                f"the function given to Do.resource, {described(self.make)}, returned "
                f"{described(manager)}, not a context manager; use Do.delay for a plain value"
            )
        entry = Exit(manager)
        machine.finalizers.append(entry)
        machine.value = manager.__enter__()
        entry.entered = True


class Map(Do[B], Frame):
    __slots__ = ("source", "transform")

    def __init__(self, source: Do[A], transform: Callable[[A], B]) -> None:
        self.source: Do[Any] = source
        self.transform: Callable[[Any], B] = transform

    def _begin(self, machine: Machine) -> Do[Any]:
        machine.frames.append(self)
        return self.source

    def resume(self, machine: Machine) -> None:
        machine.value = self.transform(machine.value)


class FlatMap(Do[B], Frame):
    __slots__ = ("source", "then")

    def __init__(self, source: Do[A], then: Callable[[A], Do[B]]) -> None:
        self.source: Do[Any] = source
        self.then: Callable[[Any], Do[B]] = then

    def _begin(self, machine: Machine) -> Do[Any]:
        machine.frames.append(self)
        return self.source

    def resume(self, machine: Machine) -> Do[B]:
        following = self.then(machine.value)
        if isinstance(following, Do):
            return following
        raise _no_do(following, "flat_map", self.then)


class Recover(Do[A]):
    __slots__ = ("handler", "source")

    def __init__(self, source: Do[A], handler: Callable[[Exception], Do[A]]) -> None:
        self.source = source
        self.handler = handler

    def _begin(self, machine: Machine) -> Do[A]:
        machine.frames.append(Recovering(self.decide, len(machine.finalizers)))
        return self.source

    def decide(self, failure: Exception) -> Do[A]:
        try:
            following = self.handler(failure)
        finally:
            del failure  # a handler that raises it again would tie this frame into a cycle
        if isinstance(following, Do):
            return following
        raise _no_do(following, "recover", self.handler)


class Shared(Do[A]):
    __slots__ = ("source",)

    def __init__(self, source: Do[A]) -> None:
        self.source = source

    def _begin(self, machine: Machine) -> Do[Any] | None:
        cell = machine.run.cells.get(self)
        if cell is None:
            machine.run.cells[self] = cell = Cell()
            machine.frames.append(Sharing(cell, len(machine.finalizers)))
            return self.source
        if not cell.known:
            return machine.wait_for(self, cell)
        if cell.failure is not None:
            return machine.fail(cell.failure)
        cell.hold(machine.finalizers)
        machine.value = cell.value
        return None


class Nested(Do[A]):
    __slots__ = ("source",)

    def __init__(self, source: Do[A]) -> None:
        self.source = source

    def _begin(self, machine: Machine) -> Do[A]:
        machine.frames.append(Nesting(len(machine.finalizers)))
        return self.source


class Program(Do[A]):
    __slots__ = ("make",)

    def __init__(self, make: Callable[[Context], Steps[A]]) -> None:
        self.make = make

    def _begin(self, machine: Machine) -> Do[Any] | None:
        machine.value = None
        return Asking(self.make(machine.context)).resume(machine)


class Question(Do[A_co]):
    """What the executor of the run says of an expression: its `forward`, `value`, `predict`, `train` or `gradients`."""

    __slots__ = ("arguments", "method")

    def __init__(self, method: str, *arguments: object) -> None:
        self.method = method
        self.arguments = arguments

    def _begin(self, machine: Machine) -> Do[Any] | None:
        source, context = machine.run.source, machine.context
        if source is not self:
            while isinstance(source, Map):
                source, context.followed = source.source, True
            while isinstance(source, (Recover, Nested, Shared)) and not context.followed:
                source = source.source
        context.whole = source is self
        machine.value = None
        return Asking(getattr(machine.run.executor, self.method)(*self.arguments, context)).resume(machine)


class Remainder(Do[None]):
    """For a question that is followed: what comes after it goes on with `value` to the end of the run, then it does.

    So a training makes its changes when nothing is left that could fail.
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def _begin(self, machine: Machine) -> None:
        machine.frames.insert(0, Returning(machine.frames.pop()))
        machine.value = self.value


class Coroutined(Do[A]):
    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Coroutine[Any, Any, A]]) -> None:
        self.make = make

    def _begin(self, machine: Machine) -> Do[Any] | None:
        coroutine = self.make()
        if not isinstance(coroutine, (CoroutineType, Coroutine)):
            raise not_awaitable(coroutine, f"{described(self.make)} is no async function: it returned")
        machine.value = None
        return Awaiting(coroutine).resume(machine)


class Within(Do[A]):
    __slots__ = ("environment", "source")

    def __init__(self, environment: object, source: Do[A]) -> None:
        self.environment = environment
        self.source = source

    def _begin(self, machine: Machine) -> Do[A]:
        machine.frames.append(Scoping(machine.context))
        machine.context = Context(machine.run, self.environment)
        return self.source


def _no_do(given: object, method: str, function: object) -> Exception:
    return not_awaitable(given, f"the function given to {method}, {described(function)}, returned")


def questions(source: Do[Any]) -> Iterator[Question[Any]]:
    """The questions that a description is put together of; those that only a run makes are not seen."""
    seen: set[int] = set()
    left: list[Do[Any]] = [source]
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Question):
            yield part
        elif isinstance(part, (Map, FlatMap, Recover, Shared, Nested, Within)):
            left.append(part.source)
        else:
            left.extend(getattr(part, "parts", ()))  # of a gather
