"""Watchers: objects that are told what runs do.

Knows: that settings may want to know of the runs in which their weights take part; they are not kept alive here.
Refuses to know: what they do with it, and how a run goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol
from weakref import ref

from wengert.graph.weights import Weight


class Watcher(Protocol):
    """Settings that are told of the runs of their weights."""

    @property
    def detailed(self) -> bool:
        """True if it wants to hear of operations and updates now; failures it always hears of."""
        ...

    @property
    def listener(self) -> object:
        """The final listener: of several settings objects with one, one is told of a run."""
        ...

    def operation(self, direction: str, what: str) -> None:
        """The "forward" or "backward" of an operation is done; `what` says which, on what, written where."""
        ...

    def updated(self, weight: Weight) -> None:
        """A commit has changed this weight."""
        ...

    def failed(self, failure: Exception) -> None:
        """A run has failed; the failure has notes of where."""
        ...


WATCHERS: Final[dict[int, ref[Watcher]]] = {}  # by identity; what is empty costs a run nothing


def enter(watcher: Watcher) -> None:
    """Tell the watcher from now on, as long as it lives."""
    key = id(watcher)

    def leave(gone: ref[Watcher]) -> None:
        WATCHERS.pop(key, None)

    WATCHERS[key] = ref(watcher, leave)


def present() -> list[Watcher]:
    """All watchers that are alive."""
    return [watcher for known in tuple(WATCHERS.values()) if (watcher := known()) is not None]


def watchers_of(weights: Iterable[Weight]) -> list[Watcher]:
    """The watchers among the settings of these weights; of those that would tell the same one, the first."""
    keys = dict.fromkeys(id(weight.optimizer.settings) for weight in weights)
    found = [WATCHERS[key]() for key in keys if key in WATCHERS]
    by_listener: dict[int, Watcher] = {}
    for watcher in found:
        if watcher is not None:
            by_listener.setdefault(id(watcher.listener), watcher)
    return list(by_listener.values())
