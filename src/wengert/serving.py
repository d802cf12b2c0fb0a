"""Serving: requests that wait at the same time are answered by one run.

Knows: an event loop's requests, the window in which they are joined, bounds on how many wait and for how long; that a
request which fails, fails alone.
Refuses to know: protocols of networks, and what a request is asked of: that is a function from it to a `Do`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

from wengert.control import Do, Executor, gather, without_collector
from wengert.errors import ArgumentError, OverloadedError
from wengert.run import Batched

__all__ = ["Batcher", "Served"]

A = TypeVar("A")
B = TypeVar("B")


class Served(NamedTuple):
    """Counts since the beginning: requests that were answered, those that failed among them, and runs."""

    requests: int
    failures: int
    runs: int


@dataclass(frozen=True, slots=True)
class _Answer:
    value: Any  # of the type that the function promises
    failure: Exception | None = None

    def give(self, future: asyncio.Future[Any]) -> None:
        """Tell who waits, unless nobody waits any more."""
        if future.done():
            return
        if self.failure is None:
            future.set_result(self.value)
        else:
            future.set_exception(self.failure)


@dataclass(frozen=True, slots=True, eq=False)
class _Request(Generic[A, B]):
    asked: A
    arrived: float  # by the clock of the event loop, in seconds
    answer: asyncio.Future[B]


class Batcher(Generic[A, B]):
    """Awaitable predictions, joined: `await batcher(request)` gives what `function(request).run()` would give.

    Requests that arrive within `window` seconds of the first, or while a run is busy, are one run of `executor`
    (`Batched()`), at most `limit` of them; trees of different shapes are joined as well. Runs are performed one after
    the other in a thread, beside the event loop. Each run reads all weights at one moment: a `saving.load` or a
    training meanwhile is seen whole or not at all.

    A request whose `Do` cannot be built, or fails, fails alone: the others of its run are answered. A cancelled request
    that has not begun is not computed. `async with` waits for what was accepted, and ends the thread.

    Raises ArgumentError for bounds that are not positive, and for a request after the end; OverloadedError where
    `waiting` requests wait already; TimeoutError after `timeout` seconds, None being any time.
    >>> import asyncio
    >>> import numpy as np
    >>> from wengert.nn import Linear
    >>> from wengert.plugins import SGD
    >>> model = Linear.make(SGD(learning_rate=0.1), 2, 1, seed=0)
    >>> async def main() -> tuple[int, int]:
    ...     async with Batcher(lambda x: model(x).predict()) as batcher:
    ...         answers = await asyncio.gather(*[batcher(np.ones(2, np.float32)) for _ in range(5)])
    ...         return len(answers), batcher.served.runs
    >>> asyncio.run(main())
    (5, 1)

    Source: dynamic batching as in Crankshaw et al. 2017, "Clipper: A Low-Latency Online Prediction Serving System",
    section 4.3; of graphs, Looks et al. 2017.
    """

    def __init__(
        self,
        function: Callable[[A], Do[B]],
        *,
        window: float = 0.002,
        limit: int = 64,
        waiting: int = 1024,
        timeout: float | None = None,
        executor: Executor | None = None,
    ) -> None:
        for name, value in (("limit", limit), ("waiting", waiting), ("timeout", timeout)):
            if value is not None and not value > 0:
                raise ArgumentError(f"Batcher: {name} is positive; got {value}")
        if not window >= 0.0:
            raise ArgumentError(f"Batcher: window is a number of seconds, 0 or more; got {window}")
        self._function = function
        self._window, self._limit, self._most, self._timeout = window, limit, waiting, timeout
        self._executor = Batched() if executor is None else executor
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="wengert-serving")
        self._waiting: deque[_Request[A, B]] = deque()
        self._full = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None
        self._closed = False
        self._served = Served(0, 0, 0)

    @property
    def served(self) -> Served:
        """Counts of requests, failures and runs until now."""
        return self._served

    async def __call__(self, request: A) -> B:
        """The answer to one request, as soon as the run that it is joined to has ended."""
        if self._closed:
            raise ArgumentError("Batcher: it was closed; make a new one")
        if len(self._waiting) >= self._most:
            raise OverloadedError(f"Batcher: {self._most} requests wait already; try again later")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[B] = loop.create_future()
        self._waiting.append(_Request(request, loop.time(), answer))
        if len(self._waiting) >= self._limit:
            self._full.set()
        if self._worker is None:
            self._worker = loop.create_task(self._work(loop))
        async with asyncio.timeout(self._timeout):
            return await answer

    async def close(self) -> None:
        """Accept no more, answer what was accepted, and end the thread."""
        self._closed = True
        if self._worker is not None:
            await self._worker
        self._thread.shutdown()

    async def __aenter__(self) -> Batcher[A, B]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run after run, while requests wait."""
        try:
            while self._waiting:
                await self._filled(self._waiting[0].arrived + self._window - loop.time())
                batch = self._taken()
                if batch:
                    asked = [request.asked for request in batch]
                    answers = await loop.run_in_executor(self._thread, self._joined, asked)
                    for request, answer in zip(batch, answers, strict=True):
                        answer.give(request.answer)
                    self._count(answers)
        finally:  # a defect here, or the end of the loop: nobody waits in vain
            self._worker = None
            for request in self._waiting:
                request.answer.cancel()

    async def _filled(self, seconds: float) -> None:
        """Wait until a whole batch is there, at most so long."""
        if seconds <= 0.0 or len(self._waiting) >= self._limit:
            return
        self._full.clear()
        try:
            await asyncio.wait_for(self._full.wait(), seconds)
        except TimeoutError:
            return

    def _taken(self) -> list[_Request[A, B]]:
        """The oldest requests for which somebody still waits."""
        batch: list[_Request[A, B]] = []
        while self._waiting and len(batch) < self._limit:
            request = self._waiting.popleft()
            if not request.answer.done():
                batch.append(request)
        return batch

    def _joined(self, asked: Sequence[A]) -> list[_Answer]:
        with without_collector():  # a quarter of a run's time: requests that wait are many objects that live
            return self._answers(asked)

    def _answers(self, asked: Sequence[A]) -> list[_Answer]:
        """The answers of one run; where it fails, each by itself, so that all but the failing ones have theirs."""
        built = [self._built(request) for request in asked]
        dos = [do for do in built if isinstance(do, Do)]
        try:
            values = iter(gather(*dos).run(self._executor))
        except Exception:
            return [self._alone(do) if isinstance(do, Do) else do for do in built]
        return [_Answer(next(values)) if isinstance(do, Do) else do for do in built]

    def _built(self, request: A) -> Do[B] | _Answer:
        try:
            do = self._function(request)
            if not isinstance(do, Do):
                raise ArgumentError(
                    f"Batcher: its function gives a Do, as layer.predict() is one; got {type(do).__name__}"
                )
        except Exception as failure:
            return _Answer(None, failure)
        return do

    def _alone(self, do: Do[B]) -> _Answer:
        try:
            return _Answer(do.run(self._executor))
        except Exception as failure:
            return _Answer(None, failure)

    def _count(self, answers: Sequence[_Answer]) -> None:
        failed = sum(answer.failure is not None for answer in answers)
        requests, failures, runs = self._served
        self._served = Served(requests + len(answers), failures + failed, runs + 1)
