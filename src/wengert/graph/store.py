"""The values that weights hold, and who may see which of them when.

Knows: versions. A run reads every weight as it was when the run began; a commit changes all its weights at
once, in place if no other run can see the old buffer, else beside it.
Refuses to know: what a weight is for, and how an update was found.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from operator import attrgetter
from typing import Any, Final, TypeVar

from wengert.arrays import Value, as_readonly, is_array, own_copy
from wengert.arrays.changes import Change, all_set, carry_out
from wengert.control import running_here

A = TypeVar("A")
B = TypeVar("B")


class Arena:
    """One array whose rows are the data of several weights. `fresh`: their refs may still have a history."""

    __slots__ = ("data", "fresh", "rows")

    def __init__(self, data: Value) -> None:
        self.data = data
        self.rows: list[Value] = list(data)
        self.fresh = True


class Ref:
    """One weight's data. `exposed`: somebody outside the library holds a view of the present buffer.

    `arena` has been made for the data; they are a row of it as long as nobody has put others in their place.
    """

    __slots__ = ("arena", "data", "exposed", "history", "version")

    def __init__(self, data: Value) -> None:
        self.data = data
        self.arena: Arena | None = None
        self.version = 0
        self.exposed = False
        self.history: list[tuple[int, Value]] = []  # older (version, data) that a running reader still sees

    def __reduce__(self) -> tuple[type[Ref], tuple[Value]]:
        """The data alone: versions count in one process, and other weights' data stay where they are."""
        return Ref, (self.data,)

    def at(self, snapshot: int) -> Value:
        """The data as they were at a snapshot."""
        data = self.data  # before the version: `replaced` writes them the other way round
        if self.version <= snapshot:
            return data
        return next(data for version, data in reversed(self.history) if version <= snapshot)


def targets(refs: Sequence[Ref], others: list[int]) -> list[Value]:
    """Arrays with the refs' data to be changed in place: the data themselves where nobody else sees them.

    For one who holds the store's lock, and hands the same arrays to `replaced` before letting go of it.
    """
    return [own_copy(ref.data) if others or ref.exposed else ref.data for ref in refs]


class Store:
    """All versions of all weights of this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a finalizer of a user's may ask for data during a commit
        self._training = threading.Lock()
        self.version = 0  # how often anything has changed
        self.moved = 0  # how often a weight has got another buffer
        self.readers: dict[object, int] = {}  # who reads, and the snapshot that each sees
        self.changing = False  # somebody who has the lock is about to change data in place

    def begin(self, reader: object) -> int:
        """A snapshot that stays readable until `end(reader)`."""
        with self.lock:
            self.readers[reader] = snapshot = self.version
        return snapshot

    def end(self, reader: object) -> None:
        """Let go of the reader's snapshot, if it has one."""
        self.readers.pop(reader, None)

    def reading(self, work: Callable[[int], Generator[A, Any, B]]) -> Generator[A, Any, B]:
        """The steps of `work` on a snapshot that stays readable until they are done.

        No context manager: an interrupt could come between its `__enter__` and the block, or before the first
        line of its `__exit__`, and the reader would stay for ever.
        """
        reader = object()
        try:
            return (yield from work(self.begin(reader)))
        finally:
            self.readers.pop(reader, None)

    def training(self, work: Callable[[int], Generator[A, Any, B]]) -> Generator[A, Any, B]:
        """The steps of `work` on a snapshot that nobody else's training changes before they are done.

        A training started by a training, in whatever thread, is part of it and does not wait.
        """
        outer = _inside.get()
        with _NOBODY if outer else self._training:
            inside, reader = [True], object()
            try:
                _inside.set(inside)
                return (yield from work(self.begin(reader)))  # `reading` would be one generator more a step
            finally:
                try:  # an interrupt may come after any of these calls
                    inside.clear()
                    _inside.set(outer)
                finally:
                    self.readers.pop(reader, None)

    def at_once(self, work: Callable[[int], A]) -> A:
        """The value of `work` on a snapshot as in `training`, for work that has no steps."""
        outer = _inside.get()
        with _NOBODY if outer else self._training:
            inside, reader = [True], object()
            try:
                _inside.set(inside)
                return work(self.begin(reader))
            finally:
                try:
                    inside.clear()
                    _inside.set(outer)
                finally:
                    self.readers.pop(reader, None)

    def alone(self, work: Callable[[], A]) -> A:
        """The value of `work()`, while nobody else trains, as in `training`."""
        outer = _inside.get()
        with _NOBODY if outer else self._training:
            inside = [True]
            try:
                _inside.set(inside)
                return work()
            finally:
                inside.clear()
                _inside.set(outer)

    def hold(self, at_end: Callable[[Callable[[], None]], object]) -> None:
        """Keep others from training, as `training` does, until what `at_end` is given is called (in this thread)."""
        if _inside.get():
            return
        inside: list[bool] = []
        held: list[Change] = []
        left = iter(held)

        def release() -> None:
            inside.clear()
            _inside.set(None)
            carry_out(left)  # no interrupt comes between that it is let go of and that this is known

        at_end(release)
        carry_out([(self._training.acquire,), (held.append, (self._training.release,))])
        inside.append(True)
        _inside.set(inside)

    def publish(
        self,
        snapshot: int,
        changes: Sequence[tuple[Ref, Callable[[Value, bool], tuple[Value, list[Change]]]]],
        besides: Sequence[Change] = (),
    ) -> None:
        """All changes as one version, and others that belong to it.

        A change takes (data, whether it may work in place); it gives the data that will be, and what makes them so.
        """
        with self.lock:
            others = self.others(snapshot)
            todo: list[Change] = []
            made: list[tuple[Ref, Value]] = []
            try:
                self.changing = True
                for ref, change in changes:
                    data, calls = change(ref.data, not others and not ref.exposed)
                    made.append((ref, data))
                    todo += calls
                todo += self.replaced(made, others)
                todo += besides
                carry_out(todo)
            finally:
                self.changing = False

    def replaced(self, made: Sequence[tuple[Ref, Value]], others: list[int]) -> list[Change]:
        """The changes that give several weights new data, as one version.

        For one who holds the lock until it is carried out, and has asked who else reads.
        """
        found: list[Change] = []
        refs: list[Ref] = []  # those that get another buffer
        fresh: list[Value] = []
        for ref, data in made:
            if others:
                history = _still_seen([*ref.history, (ref.version, ref.data)], others)
                found.append((setattr, ref, "history", history))
                found.append((setattr, ref, "version", self.version + 1))  # before the data: see `at`
            elif ref.history:  # nobody has a snapshot from before, so data may stay of an older version
                found.append((setattr, ref, "history", []))
            if data is not ref.data:
                if ref.arena is not None or ref.exposed:
                    found += (setattr, ref, "arena", None), (setattr, ref, "exposed", False)
                refs.append(ref)
                fresh.append(data)
        if refs:
            one = len(refs) == 1
            found.append((setattr, refs[0], "data", fresh[0]) if one else all_set(refs, "data", fresh))
            found.append((setattr, self, "moved", self.moved + len(refs)))
        found.append((setattr, self, "version", self.version + 1))
        return found

    def changed(self, refs: Sequence[Ref]) -> list[Change]:
        """The changes that make one version of data changed in place; for one who holds the lock and alone reads."""
        found: list[Change] = [(setattr, ref, "history", []) for ref in refs if ref.history]
        found.append((setattr, self, "version", self.version + 1))
        return found

    def forked(self) -> None:
        """A process that has been forked has one thread: no other trains or reads any more.

        The lock is held since before the fork, so no commit was half made then.
        """
        if not _inside.get():
            self._training = threading.Lock()
        if not running_here():  # or some of these may be its own; the others cost a copy a commit
            self.readers.clear()
        self.lock.release()

    def read(self, refs: Sequence[Ref], snapshot: int) -> list[Value]:
        """The data of the refs at a snapshot."""
        data = [*map(_data, refs)]  # before the version: `replaced` writes them the other way round
        return data if self.version == snapshot else [ref.at(snapshot) for ref in refs]

    def others(self, snapshot: int) -> list[int]:
        """The snapshots that other readers see, when the reader of `snapshot` commits: who holds the lock asks."""
        others = list(self.readers.values())
        if snapshot in others:
            others.remove(snapshot)
        return others


_data = attrgetter("data")


def _still_seen(history: list[tuple[int, Value]], readers: list[int]) -> list[tuple[int, Value]]:
    """The history that readers need: of each, the newest entry not younger than its snapshot."""
    seen = {max((v for v, _ in history if v <= reader), default=-1) for reader in readers}
    return [entry for entry in history if entry[0] in seen]


_NOBODY: Final = nullcontext()  # to wait for
# Empty outside a training. The training empties it at its end: a thread that it started, and that outlives it,
# carries the same list and waits like everybody else from then on.
_inside: Final[ContextVar[list[bool] | None]] = ContextVar("inside a training", default=None)
STORE: Final = Store()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=STORE.lock.acquire, after_in_parent=STORE.lock.release, after_in_child=STORE.forked
    )


def exposed(ref: Ref) -> Value:
    """A read-only view for people; the next commit writes beside it, so that the view never changes.

    Of a row of an arena it is a copy, and for a signal's handler or a finalizer that asks in the middle of a commit.
    """
    with STORE.lock:  # or a commit in place, in another thread, could have begun on what is shown here
        # a view of an arena would keep the data of other weights
        if STORE.changing or is_array(ref.data.base):
            return as_readonly(ref.data.copy())
        ref.exposed = True
        return as_readonly(ref.data)
