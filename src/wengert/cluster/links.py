"""The driver's end of a node: messages that are answered once, whatever becomes of them, and lives after a death.

Knows: one message at a time, sent again when nobody answers within `patience`; how often a node may begin again, and
what it is given then; that of a decided step the messages stay until a checkpoint has it.
Refuses to know: what messages do there, and when a step is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from threading import RLock
from typing import Any, Final, Generic, ParamSpec, TypeVar

from wengert.cluster.engine import Engine, PlacedObject
from wengert.cluster.messages import Failed, packed
from wengert.cluster.part import (
    Applying,
    Described,
    Digesting,
    Life,
    Make,
    PartEnding,
    PlacedPart,
    Reading,
    Releasing,
    Replayed,
    Reply,
    Running,
    Saving,
    Staging,
    describe,
)
from wengert.cluster.protocol import Journal, Link, Request, Verdict
from wengert.control import Do
from wengert.errors import NodeLostError

A = TypeVar("A")
B = TypeVar("B")
C = ParamSpec("C")
_TRIES: Final = 3  # how often a message is sent before its node counts as dead
_BEGINS: Final = 6  # times `patience` that a process may take to start


@dataclass(eq=False)
class RunMessages:
    """Messages of one of the driver's runs to a node so far, all of which another life of it would have to be asked."""

    bodies: list[bytes] = field(default_factory=list)
    staging: bytes | None = None


class Handle(Generic[A]):
    """A value that stays on its node: what `node.keep(do)` gives, for as long as the scope is open that ran it."""

    def __init__(self, node: NodeLink, number: int) -> None:
        self._node = node
        self._number = number

    def map(self, function: Callable[[A], B]) -> Do[B]:
        """`function(value)`, computed there; its result is brought."""
        return Do.defer(lambda: self._node.run(Applying(self._number, function)))

    def get(self) -> Do[A]:
        """The value, brought here."""
        return self.map(_itself)

    def __repr__(self) -> str:
        return f"<Handle: value {self._number} on {self._node.name!r}>"


def _itself(value: A) -> A:
    return value


class NodeLink:
    """The link to one node. `ask` never waits; what it asks is answered in order, by a thread of this node's."""

    def __init__(
        self,
        engine: Engine,
        name: str,
        note: str,
        *,
        restarts: int,
        patience: float,
        path: str | None,
        save_every: int,
    ) -> None:
        self.name = name
        self.restarts = restarts  # that are left
        self.lost: NodeLostError | None = None
        self.journal = Journal()
        self.kept: dict[int, bytes] = {}
        self.open: dict[str, RunMessages] = {}
        self.placed = False
        self._engine, self._patience, self._note, self._path = engine, patience, note, path
        self._save_every = save_every
        self._make, self._describes = packed((None, (), {})), False
        self._loaded: str | None = None
        self._steps: dict[int, Replayed] = {}
        self._link = Link(life=0)
        self._gone = True  # what is there, if anything, has not been given its past
        self._place: PlacedObject | None = None
        self.closed = False
        self._died = ""  # why, as far as the engine has told
        self._lock = RLock()
        self._numbers = count(1)
        self._allowed = restarts
        self._outlives = restarts > 0 or path is not None  # else nobody needs what led here
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"wengert-{name}")

    def _submit(self, work: Callable[..., A], *args: object) -> Future[A]:
        """Have the node's thread do something, as part of what this thread does: of a training, say."""
        if self.closed:
            raise NodeLostError(f"node {self.name!r} is closed")
        return self._thread.submit(copy_context().run, work, *args)

    # -- asking ----------------------------------------------------------------------------------------

    # Any: its answer
    def ask(self, kind: Request, message: object, step: int = 0, base: int = 0) -> Future[Any]:
        """Send a message, which is packed now, and answered when those before it are."""
        return self._submit(self._answered, kind, packed(message), step, base)

    def work(self, run: str, message: object, keeps: bool, base: int = 0) -> Future[Any]:  # Any: as above
        """Have something computed that belongs to a run; if it `keeps`, another life will do it once more."""
        return self._submit(self._worked, run, packed(message), keeps, base)

    def run(self, message: object) -> Do[Any]:  # Any: as above
        """The answer to a message that is no part of a step, asked in each run."""
        return Do.of(self.ask(Request.WORK, message))

    def _worked(self, run: str, body: bytes, keeps: bool, base: int) -> object:
        found = self._answered(Request.WORK, body, 0, base)
        if keeps:
            with self._lock:
                self.open.setdefault(run, RunMessages()).bodies.append(body)
        return found

    def vote(self, staging: Staging, step: int) -> Future[Any]:  # Any: as above
        """Have a step staged."""
        return self._submit(self._voted, staging.run, packed(staging), step)

    def _voted(self, run: str, body: bytes, step: int) -> object:
        found = self._answered(Request.VOTE, body, step, self.journal.version)
        with self._lock:
            self.open.setdefault(run, RunMessages()).staging = body
        return found

    def decided(self, run: str, step: int) -> None:
        """Write a step into the journal; from now on every life of the node takes it."""
        with self._lock:
            was = self.open.pop(run)
            assert was.staging is not None, "it has voted"
            if self._outlives:
                self._steps[step] = Replayed(step, tuple(was.bodies), was.staging)
                self.journal = self.journal.with_step(step)
            else:
                self.journal = Journal(step)

    def commit(self, run: str, step: int) -> Future[Any]:  # Any: as above
        """Tell of a decided step."""
        return self.ask(Request.COMMIT, PartEnding(run), step)

    def drop(self, run: str) -> Future[Any]:  # Any: as above
        """Tell of the end of a run that has shown nothing."""
        return self._submit(self._dropped, run)

    def _dropped(self, run: str) -> object:
        with self._lock:
            was = self.open.pop(run, None)
        staged = was is not None and was.staging is not None  # else a stage is that of another run
        return self._answered(Request.DROP if staged else Request.WORK, packed(PartEnding(run)), 0, 0)

    def save_if_due(self) -> Future[Any] | None:  # Any: as above
        """A checkpoint, every so many steps."""
        if self._path is None or len(self.journal.steps) < self._save_every:
            return None
        return self._submit(self._saved, self._path, self.journal.version)

    def _saved(self, path: str, step: int) -> None:
        self._answered(Request.SAVE, packed(Saving(path, self._note)), step, step)
        with self._lock:
            self.journal = self.journal.with_save(step)
            self._steps = {x: self._steps[x] for x in self.journal.steps}
            self._loaded = None

    def save_to(self, path: str) -> Future[Any]:  # Any: as above
        """A checkpoint for somebody else, beside the node's own."""
        return self.ask(Request.SAVE, Saving(path, self._note), self.journal.version)

    # -- one message -----------------------------------------------------------------------------------

    def _answered(self, kind: Request, body: bytes, step: int, base: int) -> object:
        """The answer to a message, sent as often as it takes; NodeLostError once no life is left."""
        if self.lost is not None:
            raise NodeLostError(*self.lost.args)
        while True:
            if self._gone:
                self._restore()
            self._link = self._link.asked(kind, step, base)
            reply = self._exchanged(body)
            if reply is None:
                self._restart()
            elif reply.verdict is Verdict.UNKNOWN:
                self._gone = True
            else:
                self._link = self._link.answered()
                return self._told(reply)

    def _restore(self) -> object:
        """Give a life what it needs; what it answers."""
        while True:
            self._link = self._link.restarted(self.journal.version)
            reply = self._exchanged(self._life())
            if reply is None:
                self._restart()
                continue
            self._link = self._link.answered()
            found = self._told(reply)
            self._gone = False
            return found

    def _told(self, reply: Reply) -> object:
        if not isinstance(reply.value, Failed):
            return reply.value
        failure = reply.value.exception()
        failure.add_note(f"on node {self.name!r}")
        raise failure

    def _exchanged(self, body: bytes) -> Reply | None:
        """The reply to the message on the link; None from a node that is dead, or says nothing for too long."""
        ask = self._link.pending
        if self._place is None or ask is None:
            return None
        begins = ask.kind is Request.RESTORE  # a process has to start, and to take the steps of its journal
        seconds = self._patience * (_BEGINS + len(self.journal.steps) if begins else 1)
        self._died = f": no answer in {seconds} seconds; a part that computes longer needs more `patience`"
        waiting: list[Future[Any]] = []  # Any: replies
        for _ in range(_TRIES):
            waiting.append(self._place.call("receive", ask, body))
            end = self._engine.wait(waiting, seconds / _TRIES)
            for future in end:
                waiting.remove(future)
                died = future.exception()
                if isinstance(died, NodeLostError):
                    self._died = f": {died!s:.300}"
                    return None
                reply: Reply = future.result()
                if self._link.accepts(reply.life, reply.number) and reply.verdict is not Verdict.STALE:
                    return reply
        return None

    def _restart(self) -> None:
        """Begin another life, if one is left."""
        if self._place is not None:
            self._place.close()
            self._place = None
            if not self.restarts:
                self.lost = NodeLostError(
                    f"node {self.name!r} has died or does not answer, and its {self._allowed} restarts are spent; what "
                    f"is decided is not lost, cluster.recover() begins it anew{self._died}"
                )
                raise NodeLostError(*self.lost.args)
            self.restarts -= 1
        self._place = self._engine.place(self.name, PlacedPart)
        self._gone = True

    def _life(self) -> bytes:
        with self._lock:
            bodies = [body for x in self.open.values() for body in (*x.bodies, x.staging) if body is not None]
            return packed(
                Life(
                    self._make,
                    self._note,
                    self._path,
                    self.journal,
                    tuple(self._steps[x] for x in self.journal.steps),
                    tuple(bodies),
                    tuple(self.kept.values()),
                    self._loaded,
                    self._describes,
                )
            )

    # -- lives -----------------------------------------------------------------------------------------

    def begin(
        self, make: Make | None, args: tuple[object, ...], named: dict[str, object]
    ) -> Described | None:
        """Have the process begun, or begun anew, with a model; what that model's `__call__` is."""
        called = isinstance(make, type) and any("__call__" in vars(cls) for cls in make.__mro__)
        known = describe(make) if make is not None and called else None
        self._make, self._describes = packed((make, args, named)), make is not None and known is None
        found = self._submit(self._begun).result()
        self.placed = make is not None
        return found if known is None else known

    def _begun(self) -> Described | None:
        if self._place is None:
            self._place = self._engine.place(self.name, PlacedPart)
        found: Any = self._restore()  # Any: as of every message
        return found  # type: ignore[no-any-return] # what a life answers

    def recover(self, restarts: int | None = None) -> None:
        """Begin anew what is lost, with as many restarts as at first."""
        if self.lost is not None and not self._outlives and self.journal.version:
            raise NodeLostError(
                f"node {self.name!r} has died, and was begun without `restarts` and `checkpoint`: nothing has what "
                "it was; load a checkpoint of all"
            )
        if self.lost is not None:
            self.lost, self.restarts = None, self._allowed if restarts is None else restarts
            self._submit(self._begun).result()

    def resume(self, path: str, step: int) -> None:
        """Go on from a checkpoint of a training before this one."""
        with self._lock:
            self.journal, self._loaded = Journal(step), path
            self._steps.clear()
            self.open.clear()
            if self.lost is not None:
                self.lost, self.restarts = None, self._allowed
        self._submit(self._begun).result()

    def close(self) -> None:
        """End the process and the thread; what is not answered fails."""
        self.closed = True
        self._thread.shutdown(cancel_futures=True)
        if self._place is not None:
            self._place.close()
            self._place = None

    # -- what is no part of a model --------------------------------------------------------------------

    def brought(self, do: Do[A]) -> Do[A]:
        """The value of a `Do` that is run there."""
        return Do.defer(lambda: self.run(Running(do)))

    def keeping(self, do: Do[A]) -> Do[Handle[A]]:
        """A handle of the value of a `Do` that is run there, and stays."""
        return Do.resource(partial(self._kept, do))

    @contextmanager
    def _kept(self, do: Do[A]) -> Generator[Handle[A]]:
        number = next(self._numbers)
        message = Running(do, number)
        self.ask(Request.WORK, message).result()
        with self._lock:
            self.kept[number] = packed(message)
        try:
            yield Handle(self, number)
        finally:
            with self._lock:
                del self.kept[number]
            self.ask(Request.WORK, Releasing(number)).result()

    def weights(self) -> dict[str, Any]:  # Any: arrays and numbers
        """Data of all weights by name."""
        found: dict[str, Any] = self.ask(Request.WORK, Reading()).result()
        return found

    def digest(self) -> str:
        """A digest of all weights and their state."""
        found: str = self.ask(Request.WORK, Digesting()).result()
        return found
