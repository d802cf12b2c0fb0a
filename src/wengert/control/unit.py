"""`UnitContinuation`: work that never fails by itself and never needs stack.

Knows: binds, and the one loop that follows them.
Refuses to know: failures (an exception simply leaves `run`), resources, threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

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

    def map(self, transform: Callable[[A_co], B]) -> UnitContinuation[B]:
        """`transform` of the value."""
        return _Map(self, transform)

    def flat_map(self, then: Callable[[A_co], UnitContinuation[B]]) -> UnitContinuation[B]:
        """The `UnitContinuation` that `then` makes of the value."""
        return _FlatMap(self, then)

    def run(self) -> A_co:
        """Perform it here and now; an exception from any function in it leaves here."""
        return cast(A_co, _perform(self))


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


def _perform(current: UnitContinuation[object]) -> object:
    """The loop: binds go on a list on the way to their source, and come off it with each value."""
    waiting: list[_Map[object] | _FlatMap[object]] = []
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
