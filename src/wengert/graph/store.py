"""The values that weights hold, and who may see which of them when.

Knows: versions. A run reads every weight as it was when the run began; a commit changes all its weights at
once, in place if no other run can see the old buffer, else beside it (S6, S10, S11).
Refuses to know: what a weight is for, and how an update was found.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from wengert.arrays import Value, as_readonly


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
        if self.version <= snapshot:
            return self.data
        return next(data for version, data in reversed(self.history) if version <= snapshot)


class Store:
    """All versions of all weights of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._training = threading.Lock()
        self._version = 0
        self._readers: Counter[int] = Counter()

    @contextmanager
    def reading(self) -> Iterator[int]:
        """A snapshot, kept readable inside the `with`."""
        with self._lock:
            snapshot = self._version
            self._readers[snapshot] += 1
        try:
            yield snapshot
        finally:
            with self._lock:
                self._readers[snapshot] -= 1
                if not self._readers[snapshot]:
                    del self._readers[snapshot]

    @contextmanager
    def training(self) -> Iterator[int]:
        """A snapshot that nobody else's training changes before ours is committed (S10).

        A training started by a training, in whatever thread, is part of it and does not wait.
        """
        if _inside.get():
            with self.reading() as snapshot:
                yield snapshot
            return
        with self._training:
            token = _inside.set(True)
            try:
                with self.reading() as snapshot:
                    yield snapshot
            finally:
                _inside.reset(token)

    def publish(self, snapshot: int, changes: Sequence[tuple[Cell, Callable[[Value, bool], Value]]]) -> None:
        """All changes as one version. A change takes (data, whether it may work in place), gives the new data."""
        with self._lock:
            others = [reader for reader, count in self._readers.items() if count > (reader == snapshot)]
            self._version += 1
            for cell, change in changes:
                in_place = not others and not cell.exposed
                old, version = cell.data, cell.version
                data = change(old, in_place)
                cell.history = [] if not others else _still_seen([*cell.history, (version, old)], others)
                cell.data, cell.version, cell.exposed = data, self._version, False


def _still_seen(history: list[tuple[int, Value]], readers: list[int]) -> list[tuple[int, Value]]:
    """Of each reader, the newest entry not younger than its snapshot."""
    seen = {max((v for v, _ in history if v <= reader), default=-1) for reader in readers}
    return [entry for entry in history if entry[0] in seen]


_inside: Final[ContextVar[bool]] = ContextVar("inside a training", default=False)
STORE: Final = Store()


def exposed(cell: Cell) -> Value:
    """A read-only view for people; the next commit writes beside it, so that the view never changes (S11)."""
    cell.exposed = True
    return as_readonly(cell.data)
