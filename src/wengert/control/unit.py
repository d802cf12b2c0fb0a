"""`UnitContinuation`: work that never fails by itself and never needs stack.

Knows: binds, and the one loop that follows them; that of several together each goes on as soon as it can.
Refuses to know: failures (an exception simply leaves `run`), resources, threads.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from wengert.control.waiting import Outcome, Pending, outcome_of

if TYPE_CHECKING:
    from concurrent.futures import Future

A = TypeVar("A")
B = TypeVar("B")
A_co = TypeVar("A_co", covariant=True)


class UnitContinuation(Generic[A_co]):
    """A lazy `A_co`; `run` performs it and calls each function that waits for a value exactly once.

    >>> UnitContinuation.now(40).flat_map(lambda a: UnitContinuation.now(2).map(lambda b: a + b)).run()
    42
    """

    __slots__ = ()

    @staticmethod
    def now(value: A) -> UnitContinuation[A]:
        """`value`, already known."""
        return _Now(value)

    @staticmethod
    def delay(make: Callable[[], A]) -> UnitContinuation[A]:
        """`make()`, called when run, once for each use."""
        return _Delay(make)

    @staticmethod
    def defer(make: Callable[[], UnitContinuation[A]]) -> UnitContinuation[A]:
        """The `UnitContinuation` that `make()` gives when run."""
        return _Defer(make)

    @staticmethod
    def of(source: Future[A] | Awaitable[A] | UnitContinuation[A]) -> UnitContinuation[A]:
        """The outcome of a future or an awaitable, as of `Do.of`; an exception leaves `run`."""
        if isinstance(source, UnitContinuation):
            return source
        outcome: Outcome[A] = outcome_of(source, "UnitContinuation.of")
        return _Called(outcome.arrive)

    @staticmethod
    def callback(register: Callable[[Callable[[A], None]], object]) -> UnitContinuation[A]:
        """The value that `register(resume)`, called when run, has `resume` called with; the first call counts.

        >>> from threading import Timer
        >>> UnitContinuation.callback(lambda resume: Timer(0.01, resume, [3]).start()).run()
        3
        """
        return _Called(partial(_register, register))

    def map(self, transform: Callable[[A_co], B]) -> UnitContinuation[B]:
        """`transform` of the value."""
        return _Map(self, transform)

    def flat_map(self, then: Callable[[A_co], UnitContinuation[B]]) -> UnitContinuation[B]:
        """The `UnitContinuation` that `then` makes of the value."""
        return _FlatMap(self, then)

    def __add__(self: UnitContinuation[None], other: UnitContinuation[None], /) -> UnitContinuation[None]:
        """Both side effects, neither of which waits for the other: the sum of a tape's two ways back.

        `UnitContinuation.now(None)` is the zero. Source: B. Yang et al., "Monadic Deep Learning", 2023, listing 23.

        >>> done: list[int] = []
        >>> effects = [UnitContinuation.delay(lambda: done.append(1)), UnitContinuation.delay(lambda: done.append(2))]
        >>> sum(effects, UnitContinuation.now(None)).run(), sorted(done)
        (None, [1, 2])
        """
        if not isinstance(other, UnitContinuation):
            return NotImplemented
        return Together((self, other)).map(_nothing)

    def run(self) -> A_co:
        """Perform it here and now; an exception from any function in it leaves here."""
        return cast(A_co, _perform(self))


def _nothing(values: tuple[None, ...]) -> None: ...


class _Now(UnitContinuation[A]):
    __slots__ = ("value",)

    def __init__(self, value: A) -> None:
        self.value = value


class _Delay(UnitContinuation[A]):
    __slots__ = ("make",)

    def __init__(self, make: Callable[[], A]) -> None:
        self.make = make


class _Defer(UnitContinuation[A]):
    __slots__ = ("make",)

    def __init__(self, make: Callable[[], UnitContinuation[A]]) -> None:
        self.make = make


class _Map(UnitContinuation[B]):
    __slots__ = ("source", "transform")

    def __init__(self, source: UnitContinuation[A], transform: Callable[[A], B]) -> None:
        self.source: UnitContinuation[object] = source
        self.transform: Callable[[Any], B] = transform  # Any: a value of the source's type, which is erased


class _FlatMap(UnitContinuation[B]):
    __slots__ = ("source", "then")

    def __init__(self, source: UnitContinuation[A], then: Callable[[A], UnitContinuation[B]]) -> None:
        self.source: UnitContinuation[object] = source
        self.then: Callable[[Any], UnitContinuation[B]] = then  # Any: see _Map


class _Called(UnitContinuation[A]):
    __slots__ = ("register",)

    def __init__(self, register: Callable[[Pending[A]], object]) -> None:
        self.register = register


def _register(register: Callable[[Callable[[A], None]], object], pending: Pending[A]) -> None:
    register(pending.resume)


class Together(UnitContinuation[tuple[A, ...]]):
    """All values as a tuple; see `gather`."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[UnitContinuation[A], ...]) -> None:
        self.parts = parts


class _Stopped:
    """The end of a loop at what it cannot go on with by itself."""

    __slots__ = ("at",)

    def __init__(self, at: _Called[object] | Together[object]) -> None:
        self.at = at


def _advance(current: UnitContinuation[object], waiting: list[_Map[object] | _FlatMap[object]]) -> object:
    """The loop: binds go on a list on the way to their source, and come off it with each value."""
    while True:
        if isinstance(current, (_Map, _FlatMap)):
            waiting.append(current)
            current = current.source
            continue
        if isinstance(current, _Defer):
            current = current.make()
            continue
        if isinstance(current, _Now):
            value = current.value
        elif isinstance(current, _Delay):
            value = current.make()
        elif isinstance(current, (_Called, Together)):
            return _Stopped(current)
        else:
            raise TypeError(
                f"flat_map or defer was given a function that returned {current!r}, "
                "not a UnitContinuation; use map for a plain value"
            )
        while waiting:
            bind = waiting.pop()
            if isinstance(bind, _FlatMap):
                current = bind.then(value)
                break
            value = bind.transform(value)
        else:
            return value


class _Strand:
    """One of several loops that go on together; `end` gets its value."""

    __slots__ = ("bell", "current", "end", "waiting")

    def __init__(
        self,
        current: UnitContinuation[object],
        waiting: list[_Map[object] | _FlatMap[object]],
        end: Callable[[object], object],
        bell: SimpleQueue[_Strand],
    ) -> None:
        self.current = current
        self.waiting = waiting
        self.end = end
        self.bell = bell

    def go(self) -> None:
        value = _advance(self.current, self.waiting)
        if isinstance(value, _Stopped):
            self.stop(value.at)
        else:
            self.end(value)

    def stop(self, at: _Called[object] | Together[object]) -> None:
        """Go on when the value is known that the loop has stopped at."""
        if isinstance(at, _Called):
            pending: Pending[object] = Pending()
            self.current = _Delay(pending.outcome)
            at.register(pending)
            pending.then(partial(self.bell.put, self))
            return
        values: dict[int, object] = {}
        parts = at.parts
        self.current = _Delay(lambda: tuple(values[i] for i in range(len(parts))))

        def arrive(i: int, value: object) -> None:
            values[i] = value
            if len(values) == len(parts):
                self.bell.put(self)

        for i, part in enumerate(parts):
            self.bell.put(_Strand(part, [], partial(arrive, i), self.bell))


def _perform(current: UnitContinuation[object]) -> object:
    """The value of the first loop; those that it stops at go on in turn."""
    waiting: list[_Map[object] | _FlatMap[object]] = []
    value = _advance(current, waiting)
    if not isinstance(value, _Stopped):
        return value
    values: list[object] = []
    bell: SimpleQueue[_Strand] = SimpleQueue()
    _Strand(current, waiting, values.append, bell).stop(value.at)
    while not values:
        bell.get().go()
    return values[0]
