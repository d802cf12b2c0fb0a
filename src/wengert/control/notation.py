"""`await` as notation: who drives the innermost coroutine, and what is said when something else is awaited.

Knows: that a machine or an event loop of asyncio may be the driver in this thread, and how to tell.
Refuses to know: how either of them goes on.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from threading import local
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from wengert.errors import NotAwaitableError

if TYPE_CHECKING:
    import asyncio

ADVICE = "await a layer, a Do or a gather of these; wrap other work in Do.delay(function)"
FOREIGN = f"only an event loop can give what was awaited inside a run, and none drives it here; {ADVICE}"
_NOBODY: object = object()


class _Driving(local):
    """For each thread: the event loop that was running when a machine began to move a coroutine here.

    An `await` reaches the machine if that loop is still the running one: had the coroutine called
    `asyncio.run`, another loop would be.
    """

    event_loop: object = _NOBODY


driving = _Driving()


def running_event_loop() -> asyncio.AbstractEventLoop | None:
    """asyncio's running loop in this thread. asyncio is not imported for it: where no one has, none runs."""
    events = sys.modules.get("asyncio.events")
    get: Callable[[], asyncio.AbstractEventLoop] | None = getattr(events, "_get_running_loop", None)
    return None if get is None else get()


def described(it: object) -> str:
    """An object in the words of an error: a function with its place, anything else with its type."""
    code = getattr(it, "__code__", None)
    if code is not None:
        return f"{getattr(it, '__qualname__', code.co_name)} ({code.co_filename}:{code.co_firstlineno})"
    text = repr(it)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(it).__qualname__})"


def not_awaitable(it: object, subject: str = "what was awaited is") -> NotAwaitableError:
    """The error for `it` in the place of a layer, a `Do` or a `gather`."""
    if hasattr(it, "_asyncio_future_blocking") or (it is None and subject.startswith("what was awaited")):
        return NotAwaitableError(FOREIGN)  # a future of asyncio, or the bare yield of asyncio.sleep(0)
    if isinstance(it, CoroutineType):
        it.close()  # it is never going to be awaited, and this error says so already
        return NotAwaitableError(f"{subject} a coroutine, not a Do; write Do.coroutine(function) for it")
    return NotAwaitableError(f"{subject} {described(it)}, not a Do; {ADVICE}")


def explain_await(failure: Exception) -> None:
    """Say what to write to Python's own errors: nothing awaits a tuple, and something of asyncio's lacks its loop."""
    if str(failure) == "no running event loop":
        raise not_awaitable(None) from failure
    found = re.match(
        r"(?:object )?'?(\w+)'? .*can't be (?:used in 'await' expression|awaited)$", str(failure)
    )
    if found is not None:
        failure.add_note("write await gather(a, b)" if found[1] in ("tuple", "list") else ADVICE)


def as_do(asked: object) -> Any:  # Any: a Do of every type
    """The `Do` that an awaited object stands for; `None` if it is not awaitable in a run."""
    stands_for = getattr(type(asked), "as_do", None)
    return None if stands_for is None else stands_for(asked)
