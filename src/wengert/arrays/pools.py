"""The threads that numpy's BLAS brings along, kept to one while somebody else's threads are at work.

Knows: OpenBLAS, through ctypes; that several may ask at once, the first of whom changes the number and the last
puts it back. Not through threadpoolctl, which from 3.8 on listens to one thread of a process only.
Refuses to know: who needs the threads. Another BLAS keeps its number: an environment variable of its own has to
say it before numpy is imported.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Generator
from threading import Lock
from typing import Final, TypeVar

from wengert.arrays.blas import own_library

__all__ = ["BLAS_THREADS", "called_on_one_blas_thread", "on_one_blas_thread"]

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

_Get = Callable[[], int]
_Set = Callable[[int], object]


def _find() -> tuple[_Get, _Set] | None:
    library = own_library()
    for name in ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads"):
        get, put = (getattr(library, name.format(verb), None) for verb in ("get", "set"))
        if get is not None and put is not None:
            # without letting go of the interpreter's lock, for which other threads may be waiting
            get = ctypes.PYFUNCTYPE(ctypes.c_int)(ctypes.cast(get, ctypes.c_void_p).value or 0)
            put.argtypes, put.restype = (ctypes.c_int,), None
            return get, put
    return None


BLAS_THREADS: Final = _find()  # how to read and to set their number, where that is known


class _Limit:
    """Users that need one thread now, and the number of threads before."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users: set[object] = set()
        self._before = 1

    def needed(self) -> bool:
        """Tell whether a second thread may run before one that begins now has ended."""
        return BLAS_THREADS is not None and (bool(self._users) or BLAS_THREADS[0]() != 1)

    def enter(self, user: object) -> None:
        """One thread until `leave(user)`."""
        if BLAS_THREADS is None:
            return
        get, put = BLAS_THREADS
        with self._lock:
            if not self._users:
                self._before = get()
            self._users.add(user)
            if self._before != 1:
                put(1)

    def leave(self, user: object) -> None:
        """Restore the number of before when the last user leaves."""
        with self._lock:
            if user in self._users:
                self._users.remove(user)
                if not self._users and self._before != 1 and BLAS_THREADS is not None:
                    BLAS_THREADS[1](self._before)

    def forked(self) -> None:
        """A process has only the thread that forked it: nobody leaves any more."""
        self._lock = Lock()
        for user in [*self._users]:
            self.leave(user)


_LIMIT: Final = _Limit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LIMIT.forked)


def called_on_one_blas_thread(work: Callable[[], A]) -> A:
    """The value of `work()`, with BLAS on one thread."""
    user = object()
    try:
        _LIMIT.enter(user)
        return work()
    finally:
        _LIMIT.leave(user)


def on_one_blas_thread(steps: Generator[A, B, C]) -> Generator[A, B, C]:
    """Run a generator with BLAS on one thread."""
    return _limited(steps) if _LIMIT.needed() else steps


def _limited(steps: Generator[A, B, C]) -> Generator[A, B, C]:
    user = object()
    try:
        _LIMIT.enter(user)
        return (yield from steps)
    finally:
        _LIMIT.leave(user)
