"""Python's cyclic garbage collector, held off while something large is built.

Knows: that expressions have no cycles, so reference counts free them; that whoever switched the collector off has
it off afterwards too.
Refuses to know: what is built.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final


class _Collector:
    """How many are without it at the same time, and whether it was on when the first of them came."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._without = 0
        self._was_on = False

    def leave(self) -> None:
        with self._lock:
            if not self._without:
                self._was_on = gc.isenabled()
                gc.disable()
            self._without += 1

    def come_back(self) -> None:
        with self._lock:
            self._without -= 1
            if not self._without and self._was_on:
                gc.enable()


_COLLECTOR: Final = _Collector()


@contextmanager
def without_collector() -> Iterator[None]:
    """Within, Python does not look for cycles of garbage; afterwards it does so again, if it did before.

    The collector goes through all objects that live, again and again as their number grows: in a program that holds
    a million objects of data, building a batch of trees takes nine times as long with it. An expression has no
    cycles and does not need it. Put around one step of a loop of your own, building and running; cycles of other
    code are collected between the steps. `training.fit`, `training.evaluate` and the plans do this by themselves.
    It holds for the whole process: within, other threads have no collector either.
    >>> import gc
    >>> with without_collector():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True

    Source: `gc` of Python's library.
    """
    _COLLECTOR.leave()
    try:
        yield
    finally:
        _COLLECTOR.come_back()
