"""Outcomes that come from elsewhere, and what a run waits with: `Pending`.

Knows: that the first word counts, whichever thread it comes from; futures and awaitables as outcomes; the event loop
that gives an awaitable where the run has none.
Refuses to know: runs, and what is done meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from wengert.control.context import Run
from wengert.control.notation import described, running_event_loop
from wengert.errors import ArgumentError, NotAwaitableError
from wengert.later import later
from wengert.site import user_position

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

    from typing_extensions import TypeIs

A = TypeVar("A")
_CANCELLED, _FUTURE = later("concurrent.futures", "CancelledError"), later("concurrent.futures", "Future")


class Pending(Generic[A]):
    """One outcome, not known yet. The first of `resume` and `fail` counts, later ones are ignored.

    >>> pending = Pending[int]()
    >>> pending.resume(1), pending.resume(2), pending.outcome()
    (None, None, 1)
    """

    __slots__ = ("_listeners", "_lock", "done", "failure", "value")

    def __init__(self) -> None:
        self._lock = Lock()
        self._listeners: list[Callable[[], object]] = []
        self.done = False
        self.failure: BaseException | None = None
        self.value: A | None = None

    def resume(self, value: A) -> None:
        """The value."""
        self._settle(value, None)

    def fail(self, failure: Exception) -> None:
        """The failure. Raises TypeError for what is no exception."""
        if not isinstance(failure, Exception):
            raise TypeError(f"fail takes an exception, not {described(failure)}")
        self._settle(None, failure)

    def stop(self, failure: BaseException) -> None:
        """The end of a task, an interrupt among others; its cancellation is a failure, CancelledError."""
        if type(failure).__name__ == "CancelledError" and not isinstance(failure, Exception):
            cancelled: Exception = _CANCELLED(*failure.args or ("what the run waited for was cancelled",))
            cancelled.__cause__ = failure
            failure = cancelled
        self._settle(None, failure)

    def _settle(self, value: A | None, failure: BaseException | None) -> None:
        with self._lock:
            if self.done:
                return
            self.value, self.failure, self.done = value, failure, True
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def then(self, listener: Callable[[], object]) -> None:
        """Call `listener` once the outcome is known, from the thread that brings it; at once if it is known."""
        with self._lock:
            if not self.done:
                self._listeners.append(listener)
                return
        listener()

    def wait(self, seconds: float | None = None) -> bool:
        """Block until the outcome is known, or for so long; whether it is."""
        known = Event()
        self.then(known.set)
        return known.wait(seconds)

    def outcome(self) -> A:
        """The value; raises the failure."""
        if self.failure is not None:
            try:
                raise self.failure
            finally:
                del self  # the failure's traceback holds this frame
        return cast(A, self.value)


class Outcome(Generic[A]):
    """The outcome of a future or an awaitable: once begun, the same for every run that asks."""

    def __init__(self, source: Future[A] | Awaitable[A]) -> None:
        self._source = source
        self._future: Future[A] | None = source if _is_future(source) else None
        self._lock = Lock()

    def register(self, loop: Callable[[], asyncio.AbstractEventLoop], pending: Pending[A]) -> None:
        """Have `pending` told; an awaitable begins in its own event loop, else in the one that `loop` gives."""
        source = self._source
        with self._lock:
            future = self._future
            if future is None:
                of: Callable[[], asyncio.AbstractEventLoop] | None = getattr(source, "get_loop", None)
                at = loop() if of is None else of()
                if at is running_event_loop() or not at.is_running():
                    raise NotAwaitableError(
                        f"{described(source)} is of an event loop that "
                        + ("this run keeps from going on" if at.is_running() else "does not run")
                        + "; write await do inside that loop, in place of do.run()"
                    )
                assert not _is_future(source), "which is its own future"
                begin: Callable[..., Future[A]] = later("asyncio", "run_coroutine_threadsafe")
                self._future = future = begin(_awaited(source), at)
        future.add_done_callback(partial(_tell, pending))

    def arrive(self, pending: Pending[A]) -> None:
        """As `register`, with an event loop that ends when the outcome is known."""
        made: list[EventLoop] = []

        def make() -> asyncio.AbstractEventLoop:
            made.append(EventLoop())
            return made[0].loop

        self.register(make, pending)
        for loop in made:
            pending.then(loop.end)


def _is_future(source: object) -> TypeIs[Future[Any]]:
    return isinstance(source, _FUTURE.load())  # type: ignore[arg-type] # it is a class


def outcome_of(source: object, who: str) -> Outcome[Any]:  # Any: known to the caller's signature
    """The outcome of a future or an awaitable; TypeError for what is none."""
    if not isinstance(source, Awaitable) and not _is_future(source):
        raise ArgumentError(
            f"{who} takes a future or an awaitable, not {described(source)}; write Do.now for a value that is known, "
            f"Do.delay for a function\n  at {user_position()}"
        )
    return Outcome(source)


def _tell(pending: Pending[A], future: Future[A]) -> None:
    if future.cancelled():
        pending.fail(_CANCELLED("the future that the run waited for was cancelled"))
        return
    failure = future.exception()
    if failure is None:
        pending.resume(future.result())
    else:
        pending.stop(failure)


async def _awaited(source: Awaitable[A]) -> A:
    return await source


class EventLoop:
    """An event loop on a thread of its own, for awaitables of runs that no event loop awaits."""

    def __init__(self) -> None:
        began: Future[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = _FUTURE()
        run = later("asyncio", "run")
        self._thread = Thread(target=lambda: run(_open(began)), name="wengert-event-loop", daemon=True)
        self._thread.start()
        self.loop, self._end = began.result()

    def end(self) -> None:
        """Have it cancel what still runs in it, and end."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(wake, self._end)

    def close(self) -> None:
        """End it, and wait for that."""
        self.end()
        self._thread.join()


def loop_of(run: Run) -> asyncio.AbstractEventLoop:
    """The loop for the awaitables of a run: that which awaits it, or one of its own."""
    if run.event_loop is not None:
        return run.event_loop

    def make() -> EventLoop:
        made = EventLoop()
        run.on_close(made.close)
        return made

    return run.local(EventLoop, make).loop


async def _open(began: Future[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]]) -> None:
    loop = running_event_loop()
    assert loop is not None, "that of asyncio.run"
    end: asyncio.Future[None] = loop.create_future()
    began.set_result((loop, end))
    await end


def wake(future: asyncio.Future[None]) -> None:
    """End the wait for a future, unless that has been cancelled."""
    if not future.done():
        future.set_result(None)
