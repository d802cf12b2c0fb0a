"""Spans of time on each thread, summed by what was done and where it was written.

Knows: that a span's own time is what its inner spans leave of it, so that own times add up; that every thread writes
into tables of its own, without a lock; that events are kept up to a number, sums always.
Refuses to know: what is measured, and how it is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import count
from threading import Lock, current_thread, local
from time import perf_counter_ns
from types import CodeType, TracebackType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from wengert.graph.node import Expression
from wengert.graph.operation import Signature
from wengert.profiling.batches import MeasuredBatches
from wengert.profiling.programs import MeasuredProgram
from wengert.program.program import Program
from wengert.site import position

Part: TypeAlias = Literal["forward", "backward", "bind", "step", "change", "plan", "commit", "loop", "run"]
Origin: TypeAlias = tuple[CodeType | str, int]  # what `position` makes a line of

NOWHERE: Final[Origin] = ("", 0)
_Key: TypeAlias = tuple[Part, str, int, int]


class Event(NamedTuple):
    """One span, in nanoseconds since the record began; `number` where spans of its kind need not nest."""

    part: Part
    name: str
    origin: Origin
    signature: Signature | None
    start: int
    elapsed: int
    number: int | None = None

    @property
    def line(self) -> str:
        """`file:line`, or nothing."""
        return position(*self.origin)


class TimeSum:
    """The calls of one part of one operation written on one line, and their own time."""

    __slots__ = ("calls", "nanoseconds", "origin")

    def __init__(self, origin: Origin) -> None:
        self.calls = 0
        self.nanoseconds = 0
        self.origin = origin


class Thread:
    """Spans and sums of one thread."""

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name
        self.inner = 0  # nanoseconds of the spans in the present one that have ended
        self.program: MeasuredProgram | None = None  # that has just run
        self.finding = 0  # nanoseconds in which the latest plan was looked for
        self.sums: dict[_Key, TimeSum] = {}
        self.events: list[Event] = []

    def count(self, part: Part, name: str, origin: Origin, own: int) -> None:
        """Add one call to its sum."""
        key = (part, name, id(origin[0]), origin[1])  # the sum keeps the code: its identity stays its own
        found = self.sums.get(key)
        if found is None:
            found = self.sums[key] = TimeSum(origin)
        found.calls += 1
        found.nanoseconds += own


class ProfileRecord:
    """All threads of one profile."""

    def __init__(self, most_events: int, clock: Callable[[], int] = perf_counter_ns) -> None:
        self.clock = clock  # of nanoseconds
        self.threads: list[Thread] = []
        self.programs: list[MeasuredProgram] = []
        self.batches: list[MeasuredBatches] = []
        self.began = clock()
        self.ended: int | None = None
        self.dropped = 0  # events beyond the number that is kept
        self._room = most_events
        self._lock = Lock()
        self._local = local()
        self._numbers = count(1)

    @property
    def thread(self) -> Thread:
        """The present one."""
        found: Thread | None = getattr(self._local, "thread", None)
        if found is None:
            present = current_thread()
            found = self._local.thread = Thread(present.native_id or present.ident or 0, present.name)
            with self._lock:
                self.threads.append(found)
        return found

    def end(self) -> None:
        """The profile is over; what still runs goes on being told."""
        self.ended = self.clock()

    @property
    def elapsed(self) -> int:
        """Nanoseconds from the beginning to the end, or to now."""
        return (self.clock() if self.ended is None else self.ended) - self.began

    def program(self, p: Program) -> MeasuredProgram:
        """A new program that is timed."""
        self.programs.append(made := MeasuredProgram(self.clock, p))
        return made

    def batch(self, question: str, line: str) -> MeasuredBatches:
        """A new page of launches."""
        self.batches.append(made := MeasuredBatches(self.seconds, self._launched, question, line))
        return made

    def seconds(self) -> float:
        """The clock, in seconds."""
        return self.clock() / 1e9

    def _launched(self, part: Part, name: str, origin: Origin, own: int) -> None:
        self.thread.count(part, name, origin, own)

    def keep(self, thread: Thread, event: Event) -> None:
        """One more event, while there is room."""
        if self._room > 0:
            self._room -= 1
            thread.events.append(event)
        else:
            self.dropped += 1

    def span(
        self, part: Part, name: str, origin: Origin = NOWHERE, signature: Signature | None = None
    ) -> AbstractContextManager[object]:
        """Context for the time of something that begins and ends on one thread, within the span it is in."""
        return _Span(self, part, name, origin, signature)

    def waiting(self, part: Part, name: str, origin: Origin) -> AbstractContextManager[object]:
        """As `span`, for what may end anywhere, and among others: its time is nobody's own."""
        return _Waiting(self, part, name, origin, next(self._numbers))


def origin_of(x: Expression) -> Origin:
    """File and line of an expression."""
    return x.code, x.offset


class _Span:
    __slots__ = ("name", "origin", "outer", "part", "record", "signature", "start", "thread")

    def __init__(
        self, record: ProfileRecord, part: Part, name: str, origin: Origin, signature: Signature | None
    ) -> None:
        self.record = record
        self.part: Part = part
        self.name = name
        self.origin = origin
        self.signature = signature

    def __enter__(self) -> None:
        self.thread = thread = self.record.thread
        self.outer = thread.inner
        thread.inner = 0
        self.start = self.record.clock()

    def __exit__(self, *failure: Any) -> None:  # Any: what every `__exit__` is told
        elapsed = self.record.clock() - self.start
        thread = self.thread
        thread.count(self.part, self.name, self.origin, elapsed - thread.inner)
        thread.inner = self.outer + elapsed
        record = self.record
        start = self.start - record.began
        record.keep(thread, Event(self.part, self.name, self.origin, self.signature, start, elapsed))


class _Waiting:
    __slots__ = ("name", "number", "origin", "part", "record", "start", "thread")

    def __init__(self, record: ProfileRecord, part: Part, name: str, origin: Origin, number: int) -> None:
        self.record = record
        self.part: Part = part
        self.name = name
        self.origin = origin
        self.number = number

    def __enter__(self) -> None:
        self.thread = self.record.thread
        self.start = self.record.clock()

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        elapsed = self.record.clock() - self.start
        self.thread.count(self.part, self.name, self.origin, 0)
        start = self.start - self.record.began
        self.record.keep(
            self.thread, Event(self.part, self.name, self.origin, None, start, elapsed, self.number)
        )
