"""The laws that a `Do` keeps, as code: each check raises `AssertionError` with both sides.

Knows: the monad laws, those of `recover` as an error monad, those of `gather`, that what is opened is closed.
Refuses to know: how a `Do` is made or run. A side of a law is a function from a list of events to a `Do`:
two sides are equal when they end alike *and* their effects, written into that list, are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

from wengert.control.do import Do
from wengert.control.gather import gather

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

Events: TypeAlias = list[str]
Make: TypeAlias = Callable[[Events], Do[A]]
Then: TypeAlias = Callable[[Events, A], Do[B]]
Handler: TypeAlias = Then[Exception, A]


@dataclass(frozen=True)
class Observation:
    """The outcome of a run, and its effects."""

    value: object
    failure: object
    events: tuple[str, ...]


class Tracked:
    """A context manager that writes `open name` and `close name` into the events; its value is the name."""

    def __init__(self, events: Events, name: str, failure: Exception | None = None) -> None:
        self.events = events
        self.name = name
        self.failure = failure

    def __enter__(self) -> str:
        self.events.append(f"open {self.name}")
        return self.name

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.events.append(f"close {self.name}")
        if self.failure is not None:
            raise self.failure


def observe(make: Make[A]) -> Observation:
    """Run what `make` describes, once."""
    events: Events = []
    try:
        value: object = make(events).run()
    except Exception as failure:
        return Observation(None, _described(failure), tuple(events))
    return Observation(value, None, tuple(events))


def _described(failure: Exception) -> object:
    """Exceptions have no equality of their own: their type and arguments, in a group those of its members."""
    if isinstance(failure, ExceptionGroup):
        return type(failure), tuple((type(member), member.args) for member in failure.exceptions)
    return type(failure), failure.args


def agree(law: str, left: Make[Any], right: Make[Any]) -> None:  # Any: only the observations are compared
    """Both sides end alike and have the same effects."""
    first, second = observe(left), observe(right)
    if first != second:
        raise AssertionError(f"{law} does not hold:\n  left:  {first}\n  right: {second}")


def left_identity(value: A, then: Then[A, B], now: Callable[[A], Do[A]] = Do.now) -> None:
    """`now(a).flat_map(f)` is `f(a)`."""
    agree("left identity", lambda e: now(value).flat_map(lambda a: then(e, a)), lambda e: then(e, value))


def right_identity(make: Make[A]) -> None:
    """`m.flat_map(now)` is `m`."""
    agree("right identity", lambda e: make(e).flat_map(_now), make)


def associativity(make: Make[A], then: Then[A, B], after: Then[B, C]) -> None:
    """`m.flat_map(f).flat_map(g)` is `m.flat_map(lambda a: f(a).flat_map(g))`."""
    agree(
        "associativity",
        lambda e: make(e).flat_map(lambda a: then(e, a)).flat_map(lambda b: after(e, b)),
        lambda e: make(e).flat_map(lambda a: then(e, a).flat_map(lambda b: after(e, b))),
    )


def map_is_flat_map(make: Make[A], transform: Callable[[A], B]) -> None:
    """`m.map(f)` is `m.flat_map(lambda a: now(f(a)))`."""
    agree(
        "map",
        lambda e: make(e).map(transform),
        lambda e: make(e).flat_map(lambda a: Do.now(transform(a))),
    )


def recover_of_fail(exception: Exception, handler: Handler[A]) -> None:
    """`fail(x).recover(h)` is `h(x)`."""
    agree(
        "recover of fail",
        lambda e: Do.fail(exception).recover(lambda x: handler(e, x)),
        lambda e: handler(e, exception),
    )


def recover_of_now(make: Make[A], handler: Handler[A]) -> None:
    """`m.recover(fail)` is `m`, and of a success `m.recover(h)` is `m`."""
    agree("recover with fail", lambda e: make(e).recover(Do.fail), make)
    if observe(make).failure is None:
        agree("recover of a success", lambda e: make(e).recover(lambda x: handler(e, x)), make)


def recover_is_associative(make: Make[A], handler: Handler[A], other: Handler[A]) -> None:
    """`m.recover(h).recover(k)` is `m.recover(lambda x: h(x).recover(k))`."""
    agree(
        "associativity of recover",
        lambda e: make(e).recover(lambda x: handler(e, x)).recover(lambda x: other(e, x)),
        lambda e: make(e).recover(lambda x: handler(e, x).recover(lambda y: other(e, y))),
    )


def failure_stops(
    exception: Exception,
    then: Then[Any, B],  # Any: no value ever reaches it
    fail: Callable[[Exception], Do[Any]] = Do.fail,  # Any: it has no value
) -> None:
    """`fail(x).flat_map(f)` is `fail(x)`."""
    agree(
        "failure stops",
        lambda e: fail(exception).flat_map(lambda a: then(e, a)),
        lambda e: fail(exception),
    )


def gather_keeps(make: Make[A]) -> None:
    """`gather(m)` is `m.map(lambda a: (a,))`, and beside a known value nothing changes but the tuple."""
    agree("gather of one", lambda e: gather(make(e)), lambda e: make(e).map(lambda a: (a,)))
    agree("gather with now", lambda e: gather(make(e), Do.now(0)), lambda e: make(e).map(lambda a: (a, 0)))


def releases(make: Make[A]) -> None:
    """Each `open x` is followed by exactly one `close x`, in whichever way the run ended."""
    still_open: Counter[str] = Counter()
    observed = observe(make)
    for event in observed.events:
        act, _, name = event.partition(" ")
        still_open[name] += {"open": 1, "close": -1}.get(act, 0)
        if still_open[name] < 0:
            raise AssertionError(f"{name} was closed more often than opened: {observed}")
    left = sorted(still_open.elements())
    if left:
        raise AssertionError(f"{', '.join(left)} was never closed: {observed}")


def _now(value: A) -> Do[A]:
    return Do.now(value)
