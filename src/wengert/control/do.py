"""`Do`: a description of work that finishes later, may fail, and owns resources.

Knows: what users make of descriptions, and its types.
Refuses to know: how each kind begins on the machine; nothing here happens before a run.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, Never, Protocol, TypeAlias, TypeVar

from wengert.control.context import Context, Executor
from wengert.control.machine import Machine, execute_with
from wengert.control.notation import await_here, described
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

    A failure is an exception that leaves `run`, or reaches `recover`; every method only describes.

    >>> Do.delay(lambda: 20).flat_map(lambda n: Do.now(n + 1)).map(lambda n: n * 2).run()
    42

    Source: B. Yang et al., "Monadic Deep Learning", 2023, whose `Do` this is.
    """

    __slots__ = ("__weakref__",)

    def _begin(self, machine: Machine) -> Do[Any] | None:  # Any: the stack mixes all types
        raise NotImplementedError("a Do is made by Do.now, Do.delay and the like")

    @staticmethod
    def now(value: A) -> Do[A]:
        """`value`, already known."""
        return kinds.Now(value)

    @staticmethod
    def fail(exception: Exception) -> Do[Never]:
        """The failure `exception`. Raises TypeError for what is no exception."""
        if not isinstance(exception, Exception):
            raise TypeError(f"Do.fail takes an exception, not {described(exception)}")
        return kinds.Fail(exception)

    @staticmethod
    def delay(make: Callable[[], A]) -> Do[A]:
        """`make()`, called when run, once for each use."""
        return kinds.Delay(make)

    @staticmethod
    def defer(make: Callable[[], Do[A]]) -> Do[A]:
        """The `Do` that `make()` gives when run.

        >>> Do.defer(lambda: Do.now(1)).run()
        1
        """
        return kinds.Defer(make)

    @staticmethod
    def resource(make: Callable[[], AbstractContextManager[A]]) -> Do[A]:
        """What `make()` gives on entering; left exactly once, when the run or the `nested` around it ends.

        Its `__exit__` sees the failure, if there is one; what it returns is ignored.
        >>> from contextlib import closing
        >>> from io import StringIO
        >>> Do.resource(lambda: closing(StringIO("read"))).map(lambda file: file.read()).run()
        'read'
        """
        return kinds.Resource(make)

    @staticmethod
    def program(make: Callable[[Context], Steps[A]]) -> Do[A]:
        """For interpreters: a generator, new in each run, that yields a `Do` and is sent its value."""
        return kinds.Program(make)

    @staticmethod
    def coroutine(make: Callable[[], Coroutine[Any, Any, A]]) -> Do[A]:  # Any: what it awaits is of all types
        """For notations: an `async` function, called anew in each run, whose `await`s are this run's."""
        return kinds.Coroutined(make)

    @staticmethod
    def within(environment: object, source: Do[A]) -> Do[A]:
        """For interpreters: `source`, in which programs see `environment` as `context.environment`."""
        return kinds.Within(environment, source)

    def map(self, transform: Callable[[A_co], B]) -> Do[B]:
        """`transform` of the value."""
        return kinds.Map(self, transform)

    def flat_map(self, then: Callable[[A_co], Do[B]]) -> Do[B]:
        """The `Do` that `then` makes of the value; what this one has opened stays open for it."""
        return kinds.FlatMap(self, then)

    def recover(self, handler: Callable[[Exception], Do[B]]) -> Do[A_co | B]:
        """On failure what `handler` makes of the exception; what this one had opened is released before.

        >>> Do.delay(lambda: 1 // 0).recover(lambda exception: Do.now(0)).run()
        0
        """
        return kinds.Recover(self, handler)

    def shared(self) -> Do[A_co]:
        """One computation, and one opening of its resources, for all users of this object in a run.

        >>> once = Do.delay(object).shared()
        >>> a, b = once.flat_map(lambda a: once.map(lambda b: (a, b))).run()
        >>> a is b
        True
        """
        return kinds.Shared(self)

    def nested(self) -> Do[A_co]:
        """The same value; what was opened for it is released as soon as it is known."""
        return kinds.Nested(self)

    def run(self, executor: Executor | None = None) -> A_co:
        """Perform it here and now; returns, or raises, when everything is released."""
        try:
            return execute_with(self, executor)
        finally:
            del self  # see Machine.complete

    def start(self, executor: Executor | None = None) -> Future[A_co]:
        """Perform it on a thread of its own; cancelling the future stops it before its next step.

        >>> Do.now(1).start().result()
        1
        """
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

# Last, so that either can be imported first: every kind is a `Do`, and `Do` makes them.
from wengert.control import kinds  # noqa: E402 # see above
