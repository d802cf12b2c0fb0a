"""Ctrl-C waits while weights change, so that it finds all of them changed or none (S6).

Knows: that Python handles signals in the main thread only, between any two instructions there; that an interrupt
which came meanwhile is handed to whom it was for as soon as the change is whole.
Refuses to know: what is changed. What is done in the meantime is short and runs no code of users.
"""

from __future__ import annotations

# The functions of `signal` look for members of enumerations: together they take 7 µs a commit, these 0.4 µs.
from _signal import getsignal, signal  # type: ignore[import-not-found] # part of Python, without a stub
from collections.abc import Callable
from signal import SIGINT
from threading import get_ident, main_thread
from types import FrameType, TracebackType
from typing import Final

_INTERRUPT: Final = int(SIGINT)


class Uninterrupted:
    """The block is left before an interrupt is raised, whenever that comes; other threads have none anyway."""

    __slots__ = ("_before", "_met")

    def __init__(self) -> None:
        self._before: Callable[[int, FrameType | None], object] | None = None
        self._met: list[FrameType | None] = []

    def __enter__(self) -> None:
        if get_ident() == main_thread().ident and callable(getsignal(_INTERRUPT)):
            self._before = signal(_INTERRUPT, self._later)

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        before = self._before
        if before is None:
            return
        self._before = None
        signal(_INTERRUPT, before)
        if self._met:
            before(_INTERRUPT, self._met.pop())

    def _later(self, number: int, frame: FrameType | None) -> None:
        self._met[:] = [frame]  # several are one, as several that wait in the kernel are
