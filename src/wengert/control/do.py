"""`Do`: a description of work that finishes later, may fail, and owns resources.

Knows: the kinds of description, their types, and how each begins on the machine.
Refuses to know: numbers, graphs, executors, threads; nothing here happens before a run.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import AbstractContextManager
from types import CoroutineType, TracebackType
from typing import TYPE_CHECKING, Any, Generic, Never, Protocol, TypeAlias, TypeVar

from wengert.control.context import Context, Executor
from wengert.control.frames import Asking, Awaiting, Nesting, Recovering, Scoping, Sharing
from wengert.control.machine import Frame, Machine, execute_with
from wengert.control.notation import await_here, described, not_awaitable
from wengert.control.resources import Cell, Exit
from wengert.control.start import start

A = TypeVar("A")
B = TypeVar("B")
A_co = TypeVar("A_co", covariant=True)


class Awaits(Protocol[A_co]):
    """What a run can wait for: a `Do`, and what stands for one in a run."""

    def as_do(self) -> Do[A_co]: ...

    def __await__(self) -> Generator[Any, Any, A_co]: ...  # Any: what passes between it and its driver


class Do(Generic[A_co]):
    """A lazy description of an `A_co`; `run`, `start` or `await` performs it, each time anew.

    >>> Do.delay(lambda: 20).flat_map(lambda n: Do.now(n + 1)).map(lambda n: n * 2).run()
    42
    """

    __slots__ = ("__weakref__",)

    def _begin(self, machine: Machine) -> Do[Any] | None:  # Any: the stack mixes all types
        raise NotImplementedError("a Do is made by Do.now, Do.delay and the like")

    @staticmethod
    def now(value: A) -> Do[A]:
        """`value`, already known."""
        return Now(value)

    @staticmethod
    def fail(exception: Exception) -> Do[Never]:
        """The failure `exception`."""
        if not isinstance(exception, Exception):
            raise TypeError(f"Do.fail takes an exception, not {described(exception)}")
        return Fail(exception)

    @staticmethod
    def delay(make: Callable[[], A]) -> Do[A]:
        """`make()`, called when run, once for each use."""
        return Delay(make)

    @staticmethod
    def defer(make: Callable[[], Do[A]]) -> Do[A]:
        """The `Do` that `make()` gives when run."""
        return Defer(make)

    @staticmethod
    def resource(make: Callable[[], AbstractContextManager[A]]) -> Do[A]:
        """What `make()` gives on entering; left exactly once, when the run or the `nested` around it ends.

        Its `__exit__` sees the failure, if there is one; what it returns is ignored.
        """
        return Resource(make)

    @staticmethod
    def program(make: Callable[[Context], Steps[A]]) -> Do[A]:
        """For interpreters: a generator, new in each run, that yields a `Do` and is sent its value."""
        return Program(make)

    @staticmethod
    def coroutine(make: Callable[[], Coroutine[Any, Any, A]]) -> Do[A]:  # Any: what it awaits is of all types
        """For notations: an `async` function, called anew in each run, whose `await`s are this run's."""
        return Coroutined(make)

    @staticmethod
    def within(environment: object, source: Do[A]) -> Do[A]:
        """For interpreters: `source`, in which programs see `environment` as `context.environment`."""
        return Within(environment, source)

    def map(self, transform: Callable[[A_co], B]) -> Do[B]:
        """`transform` of the value."""
        return Map(self, transform)

    def flat_map(self, then: Callable[[A_co], Do[B]]) -> Do[B]:
        """The `Do` that `then` makes of the value; what this one has opened stays open for it."""
        return FlatMap(self, then)

    def recover(self, handler: Callable[[Exception], Do[B]]) -> Do[A_co | B]:
        """On failure what `handler` makes of the exception; what this one had opened is released before."""
        return Recover(self, handler)

    def shared(self) -> Do[A_co]:
        """One computation, and one opening of its resources, for all users of this object in a run."""
        return Shared(self)

    def nested(self) -> Do[A_co]:
        """The same value; what was opened for it is released as soon as it is known."""
        return Nested(self)

    def run(self, executor: Executor | None = None) -> A_co:
        """Perform it here and now; returns, or raises, when everything is released."""
        try:
            return execute_with(self, executor)
        finally:
            del self  # see Machine.complete

    def start(self, executor: Executor | None = None) -> Future[A_co]:
        """Perform it on a thread of its own; cancelling the future stops it before its next step."""
        return start(self, executor)

    def as_do(self) -> Do[A_co]:
        """Itself: see `Awaits`."""
        return self

    def __await__(self) -> Generator[Any, Any, A_co]:  # Any: what passes between it and its driver
        return await_here(self)

    if not TYPE_CHECKING:  # hidden: checkers refuse these by themselves

        def __bool__(self) -> Never:
            raise TypeError("the truth of a Do, which describes work that nobody has done; write do.run()")

        def __iter__(self) -> Never:
            raise TypeError("iteration of a Do, which describes work that nobody has done; write do.run()")

    def __repr__(self) -> str:
        return f"<Do: {type(self).__name__}>"


Steps: TypeAlias = Generator[Do[Any], Any, A]  # Any: a program asks for values of all types

# Any in the types below: `_begin` answers to the machine, whose stack mixes all types.


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
        # Each raise lengthens the traceback of the one exception object; a thousand runs must not.
        return machine.fail(self.exception.with_traceback(self.traceback))

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
