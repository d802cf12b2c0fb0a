"""Python's cyclic garbage collector, held off while something large is built.

Knows: that expressions have no cycles, so reference counts free them; that whoever switched the collector off has
it off afterwards too.
Refuses to know: what is built.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock, get_ident
from typing import Final


class _Collector:
    """The users without a collector, by thread, and whether it was on when the first of them came."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._without: dict[object, int] = {}
        self._was_on = False

    def leave(self, user: object) -> None:
        with self._lock:
            if not self._without:
                self._was_on = gc.isenabled()
            self._without[user] = get_ident()
            gc.disable()

    def come_back(self, user: object) -> None:
        with self._lock:
            if self._without.pop(user, None) is not None and not self._without and self._was_on:
                gc.enable()

    def forked(self) -> None:
        """A process has only the thread that forked it."""
        self._lock, mine = Lock(), get_ident()
        for user in [user for user, thread in self._without.items() if thread != mine]:
            self.come_back(user)


_COLLECTOR: Final = _Collector()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_COLLECTOR.forked)


@contextmanager
def without_collector() -> Generator[None]:
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
    user = object()
    try:
        _COLLECTOR.leave(user)
        yield
    finally:
        _COLLECTOR.come_back(user)
