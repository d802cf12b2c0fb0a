"""The protocol of a cluster: messages to other processes, and what may become of them.

Knows: that a message is a function and its arguments, carried as cloudpickle carries them; that a process which dies
fails its unanswered messages, and that a message may be lost, late, or carried out though nobody hears of it.
Refuses to know: who carries messages (`local` is the definition, `rays` is Ray), runs, weights, and what a message is
for: whoever sends one decides when to send it again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

R = TypeVar("R")
V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)


class SharedRef(Protocol[V_co]):
    """A value that has been put where every process can read it; travels in arguments as it is, at any depth."""

    def read(self) -> V_co:
        """The value, in any process: arrays of it cannot be written to, and may be shared with others."""
        ...


class PlacedObject(Protocol):
    """An object in a process of its own, by name; messages to it are carried out one at a time, in order.

    Where its process dies, unanswered messages fail with `NodeLostError`, and the object is made anew as often as
    `restarts` allows: what it had is gone, so whoever needs to know asks it.
    """

    @property
    def name(self) -> str: ...

    def call(self, method: str, /, *args: object) -> Future[Any]:  # Any: what that method gives
        """Send a message: `method` of the object, with these arguments."""
        ...

    def close(self) -> None:
        """End its process; unanswered messages fail."""
        ...


class Engine(Protocol):
    """Processes that carry out messages. Only `wait` waits: a future that it has not given back may never be done.

    An exception that a function raises is the exception of its future. One whose process died has a `NodeLostError`.
    """

    @property
    def now(self) -> float:
        """Seconds on the clock that `wait` counts by."""
        ...

    @property
    def workers(self) -> int:
        """Number of messages of `submit` that can be carried out at once now, as far as is known; 0: nobody is left."""
        ...

    def submit(self, function: Callable[..., R], /, *args: object) -> Future[R]:
        """Send a message to any worker. It is sent once, whatever happens."""
        ...

    def wait(self, futures: Collection[Future[Any]], timeout: float) -> set[Future[Any]]:
        """Wait until some are done, and give these; none after `timeout` seconds. Any: results of every type."""
        ...

    def late(self, future: Future[Any]) -> None:
        """Send nothing more to the worker that has this message, which may still answer. Any: as above."""
        ...

    def abandon(self, future: Future[Any]) -> None:
        """Nobody waits for this any more: its process may be ended, if it still works on it. Any: as above."""
        ...

    def put(self, value: V) -> SharedRef[V]:
        """Put a value where all processes read it, for as long as somebody has the reference."""
        ...

    def place(
        self, name: str, make: Callable[..., object], /, *args: object, restarts: int = 0
    ) -> PlacedObject:
        """Make an object, `make(*args)`, in a process of its own; a failure of `make` is that of the first message."""
        ...

    def deaths(self) -> list[str]:
        """Names of the places and workers that have died since the last call, as far as is known."""
        ...

    def close(self) -> None:
        """End what the engine has begun; unanswered messages fail. Closing twice does nothing."""
        ...
