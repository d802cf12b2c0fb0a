"""The engine in this process: the definition that every other engine has to agree with, and faults at will.

Knows: that what crosses is copied as between processes; a clock of its own, so that waiting takes no time; which faults
a message can meet.
Refuses to know: threads, sockets, and what messages are for.
"""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import count
from threading import RLock
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable
from weakref import WeakValueDictionary

from wengert.cluster.distributed import Distributing
from wengert.cluster.messages import Failed, answer, packed
from wengert.errors import NodeLostError

R = TypeVar("R")
V = TypeVar("V")


class Fault(Enum):
    """Faults of one message."""

    LOST_BEFORE = auto()  # it never arrives
    LOST_AFTER = auto()  # it is carried out, and the answer is lost
    DOUBLED = auto()  # it is carried out twice
    DELAYED = auto()  # it arrives after `delay` seconds
    REORDERED = auto()  # the next message is carried out before it
    DIED_BEFORE = auto()  # its process dies, and has not begun
    DIED_AFTER = auto()  # its process carries it out, and dies before it answers


class Message(NamedTuple):
    """A message as an injector of faults sees it: its number from 0 on, to whom, and which function or method."""

    number: int
    to: str
    what: str


Faults = Callable[[Message], Fault | None]


class LocalRef(Generic[V]):
    """A value that has been put: its copy, of which each reader gets his own, with arrays that cannot be written to."""

    def __init__(self, value: V) -> None:
        buffers: list[pickle.PickleBuffer] = []
        self._structure = packed(value, buffers.append)
        self._buffers = [bytes(x) for x in buffers]
        self.number = next(_numbers)
        _put[self.number] = self

    def read(self) -> V:
        """The value: see `SharedRef`."""
        found: V = pickle.loads(self._structure, buffers=self._buffers)
        return found

    def __reduce__(self) -> tuple[Callable[[int], LocalRef[Any]], tuple[int]]:  # Any: of every type
        return _found, (self.number,)


_numbers: Final = count()
_put: Final[WeakValueDictionary[int, LocalRef[Any]]] = WeakValueDictionary()  # Any: values of every type


def _found(number: int) -> LocalRef[Any]:  # Any: as above
    return _put[number]


@dataclass(eq=False)
class _InFlight:
    message: Message
    call: bytes  # a function and its arguments, or a method's name and its
    future: Future[Any]  # Any: results of every type
    fault: Fault | None


@runtime_checkable
class Holding(Protocol):
    """An object that holds something of its process, which the death of a process would take along."""

    def let_go(self) -> None:
        """Release it."""


@dataclass(eq=False)
class LocalPlace:
    """An object that stands for one in a process of its own."""

    name: str
    engine: Local
    make: bytes
    restarts: int
    made: list[object] = field(default_factory=list)  # it, once the first message has arrived

    def call(self, method: str, /, *args: object) -> Future[Any]:  # Any: as in `PlacedObject`
        """Send a message: see `PlacedObject`."""
        return self.engine.send(self.name, method, packed((method, args)))

    def close(self) -> None:
        """End it: see `PlacedObject`."""
        self.restarts = 0
        self.engine.kill(self.name)

    def die(self) -> None:
        """Forget the object, and what it holds of this process."""
        while self.made:
            made = self.made.pop()
            if isinstance(made, Holding):
                made.let_go()

    def carry_out(self, method: str, args: tuple[Any, ...]) -> object:  # Any: what the method takes
        """Call a method of the object, which is made first if it is not there."""
        if not self.made:
            make, given = pickle.loads(self.make)
            self.made.append(make(*given))
        return getattr(self.made[0], method)(*args)


def _carried_out(place: LocalPlace | None, call: bytes) -> object:
    """Result of a message; KeyError of a late copy that asks for a value which nobody holds any more."""
    function, args = pickle.loads(call)
    return function(*args) if place is None else place.carry_out(function, args)


class Local(Distributing):
    """An engine without other processes: messages are carried out while somebody waits, in the order of sending.

    `faults` is asked about each message. `workers` is how many there are at first; one that dies is replaced at once,
    unless `replaced` is false. Seconds are those of the engine's own clock, `now`.
    >>> engine = Local(workers=2)
    >>> futures = [engine.submit(pow, 2, n) for n in (3, 4)]
    >>> [sorted(f.result() for f in engine.wait([future], 1.0)) for future in futures]
    [[8], [16]]
    >>> lost = Local(faults=lambda message: Fault.LOST_BEFORE)
    >>> lost.wait([lost.submit(pow, 2, 3)], 10.0), lost.now
    (set(), 10.0)
    """

    def __init__(
        self, workers: int = 2, faults: Faults | None = None, *, delay: float = 60.0, replaced: bool = True
    ) -> None:
        self._now = 0.0
        self._faults, self._delay, self._replaced = faults, delay, replaced
        self._alive = [f"worker-{i}" for i in range(workers)]
        self._names = count(workers)
        self._turn = count()
        self._sent = count()
        self._queue: list[tuple[float, float, int, _InFlight]] = []  # when, then in which order
        self._open: dict[Future[Any], _InFlight] = {}  # Any: results of every type
        self._places: dict[str, LocalPlace] = {}
        self._deaths: list[str] = []
        self._closed = False
        self._lock = RLock()

    @property
    def now(self) -> float:
        """Seconds that have been waited: see `Engine`."""
        return self._now

    @property
    def workers(self) -> int:
        """Number of workers: see `Engine`."""
        return len(self._alive)

    @property
    def unanswered(self) -> int:
        """Number of messages that are neither answered nor abandoned."""
        return len(self._open)

    @property
    def held(self) -> int:
        """Number of values of all engines of this process that have been put, and that somebody can still read."""
        return len(_put)

    def submit(self, function: Callable[..., R], /, *args: object) -> Future[R]:
        """Send a message to the worker whose turn it is: see `Engine`."""
        with self._lock:
            to = self._alive[next(self._turn) % len(self._alive)] if self._alive else ""
            return self.send(to, getattr(function, "__name__", "function"), packed((function, args)))

    def send(self, to: str, what: str, call: bytes) -> Future[Any]:  # Any: as in `PlacedObject`
        """Send a message to a worker or place."""
        with self._lock:
            message, future = Message(next(self._sent), to, what), Future[Any]()
            if self._closed or (to and to not in self._alive and to not in self._places):
                future.set_exception(_lost(to))
                return future
            fault = None if self._faults is None else self._faults(message)
            sent = self._open[future] = _InFlight(message, call, future, fault)
            if to and fault is not Fault.LOST_BEFORE:
                self._arrive(sent, self._delay if fault is Fault.DELAYED else 0.0)
                if fault is Fault.DOUBLED:
                    self._arrive(sent, 0.0)
            return future

    def _arrive(self, sent: _InFlight, after: float) -> None:
        order = sent.message.number + 1.5 * (sent.fault is Fault.REORDERED)
        heapq.heappush(self._queue, (self._now + after, order, len(self._queue), sent))

    # Any: as in `Engine`
    def wait(self, futures: Collection[Future[Any]], timeout: float) -> set[Future[Any]]:
        """Carry out messages until one of these is done: see `Engine`."""
        with self._lock:
            end = self._now + timeout
            while not (done := {future for future in futures if future.done()}):
                if not self._queue or self._queue[0][0] > end:
                    self._now = end
                    break
                when, _, _, sent = heapq.heappop(self._queue)
                self._now = max(self._now, when)
                self._carry_out(sent)
            return done

    def _carry_out(self, sent: _InFlight) -> None:
        to, place = sent.message.to, self._places.get(sent.message.to)
        if place is None and to not in self._alive:
            return  # who died before it arrived has failed it
        if sent.fault is Fault.DIED_BEFORE:
            self.kill(to)
            return
        found = answer(_carried_out, (place, sent.call))
        if sent.fault is Fault.DIED_AFTER:
            self.kill(to)
        elif sent.fault is not Fault.LOST_AFTER and self._open.pop(sent.future, None) is not None:
            if isinstance(found, Failed):
                sent.future.set_exception(found.exception())
            else:
                sent.future.set_result(pickle.loads(packed(found)))

    def kill(self, name: str) -> None:
        """Let a worker or place die now: its unanswered messages fail, also those whose arrival was to be late."""
        with self._lock:
            place = self._places.get(name)
            if place is not None:
                place.die()
                place.restarts -= 1
                if place.restarts < 0:
                    del self._places[name]
            elif name in self._alive:
                at = self._alive.index(name)
                self._alive[at : at + 1] = [f"worker-{next(self._names)}" for _ in range(self._replaced)]
            else:
                return
            self._deaths.append(name)
            for future in [x for x, sent in self._open.items() if sent.message.to == name]:
                del self._open[future]
                future.set_exception(_lost(name))
            self._queue = [x for x in self._queue if x[3].message.to != name]
            heapq.heapify(self._queue)

    def join(self) -> str:
        """Add a worker; its name."""
        with self._lock:
            self._alive.append(f"worker-{next(self._names)}")
            return self._alive[-1]

    def late(self, future: Future[Any]) -> None:  # Any: as in `Engine`
        """Nothing, as faults are those of messages: see `Engine`."""

    def abandon(self, future: Future[Any]) -> None:  # Any: as in `Engine`
        """Forget a message: see `Engine`."""
        with self._lock:
            self._open.pop(future, None)
            future.cancel()

    def put(self, value: V) -> LocalRef[V]:
        """Put a value: see `Engine`."""
        return LocalRef(value)

    def place(
        self, name: str, make: Callable[..., object], /, *args: object, restarts: int = 0
    ) -> LocalPlace:
        """Make an object: see `Engine`."""
        with self._lock:
            self._places[name] = made = LocalPlace(name, self, packed((make, args)), restarts)
            return made

    def deaths(self) -> list[str]:
        """Who died since the last call: see `Engine`."""
        with self._lock:
            found, self._deaths = self._deaths, []
            return found

    def close(self) -> None:
        """End everything: see `Engine`."""
        with self._lock:
            self._closed = True
            self._replaced = False
            for place in self._places.values():
                place.restarts = 0
            for name in [*self._alive, *self._places]:
                self.kill(name)
            for future in [*self._open]:
                self.abandon(future)
            self._queue.clear()


def _lost(name: str) -> NodeLostError:
    return NodeLostError(
        f"{name or 'every worker'} has died, or was closed, and a message to it is not answered"
    )
