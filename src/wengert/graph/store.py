"""The values that weights hold, and who may see which of them when.

Knows: versions. A run reads every weight as it was when the run began; a commit changes all its weights at
once, in place if no other run can see the old buffer, else beside it (S6, S10, S11).
Refuses to know: what a weight is for, and how an update was found.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from wengert.arrays import Value, as_readonly

A = TypeVar("A")
B = TypeVar("B")


class Cell:
    """One weight's data. `exposed`: somebody outside the library holds a view of the present buffer."""

    __slots__ = ("data", "exposed", "history", "version")

    def __init__(self, data: Value) -> None:
        self.data = data
        self.version = 0
        self.exposed = False
        self.history: list[tuple[int, Value]] = []  # older (version, data) that a running reader still sees

    def at(self, snapshot: int) -> Value:
        """The data as they were at a snapshot."""
        data = self.data  # before the version: `publish` writes them the other way round
        if self.version <= snapshot:
            return data
        return next(data for version, data in reversed(self.history) if version <= snapshot)


class Store:
    """All versions of all weights of this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a collected `Reading` may let go while this very thread holds it
        self.version = 0
        self.readers: dict[int, int] = {}  # how many see each snapshot
        self._training = threading.Lock()

    def reading(self) -> Reading:
        """A snapshot, kept readable inside the `with`."""
        return Reading(self)

    def training(self, work: Callable[[int], Generator[A, Any, B]]) -> Generator[A, Any, B]:
        """The steps of `work` on a snapshot that nobody else's training changes before they are done (S10).

        A training started by a training, in whatever thread, is part of it and does not wait.
        """
        outer = _inside.get()
        with _NOBODY if outer else self._training, self.reading() as snapshot:
            try:
                _inside.set(True)
                return (yield from work(snapshot))
            finally:
                _inside.set(outer)

    def hold(self) -> Callable[[], None]:
        """Keep others from training, as `training` does, until the result is called (in the same thread)."""
        if _inside.get():
            return _nothing
        self._training.acquire()
        _inside.set(True)

        def release() -> None:
            _inside.set(False)
            self._training.release()

        return release

    def publish(self, snapshot: int, changes: Sequence[tuple[Cell, Callable[[Value, bool], Value]]]) -> None:
        """All changes as one version. A change takes (data, whether it may work in place), gives the new data."""
        with self.lock:
            others = [] if self.readers == {snapshot: 1} else self._others(snapshot)
            # All are found before any is kept, those that work in place last: they are the ones that stay if
            # another fails.
            made: list[tuple[Cell, Value]] = []
            for cell, change in sorted(changes, key=lambda pair: not (others or pair[0].exposed)):
                made.append((cell, change(cell.data, not others and not cell.exposed)))
            self.version += 1
            for cell, data in made:
                if others:
                    cell.history = _still_seen([*cell.history, (cell.version, cell.data)], others)
                elif cell.history:
                    cell.history = []
                cell.version = self.version  # before the data: see `at`
                cell.data, cell.exposed = data, False

    def _others(self, snapshot: int) -> list[int]:
        """The snapshots that somebody sees besides the one who commits on top of `snapshot`."""
        return [reader for reader, count in list(self.readers.items()) if count > (reader == snapshot)]


class Reading:
    """What `Store.reading` gives. Entered and left in 0.7 us; a generator in its place takes 1.9."""

    __slots__ = ("_held", "_snapshot", "_store")

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held = False

    def __enter__(self) -> int:
        store = self._store
        with store.lock:
            snapshot = store.version
            self._snapshot = snapshot
            store.readers[snapshot] = store.readers.get(snapshot, 0) + 1
            self._held = True
        return snapshot

    def __exit__(self, *failure: object) -> None:
        store = self._store
        with store.lock:
            if self._held:
                self._held = False
                count = store.readers[self._snapshot] - 1
                if count:
                    store.readers[self._snapshot] = count
                else:
                    del store.readers[self._snapshot]

    def __del__(self) -> None:
        # An interrupt may come after `__enter__` and before the `with` has begun: nobody else lets go then.
        if self._held:
            self.__exit__()


def _nothing() -> None:
    """What one who holds nothing lets go of."""


def _still_seen(history: list[tuple[int, Value]], readers: list[int]) -> list[tuple[int, Value]]:
    """Of each reader, the newest entry not younger than its snapshot."""
    seen = {max((v for v, _ in history if v <= reader), default=-1) for reader in readers}
    return [entry for entry in history if entry[0] in seen]


_NOBODY: Final = nullcontext()  # to wait for
_inside: Final[ContextVar[bool]] = ContextVar("inside a training", default=False)
STORE: Final = Store()


def exposed(cell: Cell) -> Value:
    """A read-only view for people; the next commit writes beside it, so that the view never changes (S11)."""
    with STORE.lock:  # or a commit in place, in another thread, could have begun on what is shown here
        cell.exposed = True
        return as_readonly(cell.data)
