"""The cache of programs and schedules: what all executors of the process keep, within one number of bytes.

Knows: that the least recently used goes first, whichever executor it is of; that a cache dies with its executor, and
what it kept no longer counts; that what was used last stays, or a model larger than the limit would have no program;
that a structure earns a program by coming back.
Refuses to know: what a key stands for, and what is kept.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count
from operator import itemgetter
from threading import RLock
from typing import Any, Final, Generic, TypeVar
from weakref import WeakSet

from wengert.errors import ArgumentError
from wengert.site import user_position

# bytes of a line of compiled source; 300 of code and 100 of names on CPython 3.11, and its text
LINE: Final = 500
# of the limit, which is left after letting go: not every new program has to look at all others
_ROOM: Final = 0.875
_MOST_COUNTS: Final = 4096  # structures
clock: Final = count(1).__next__
_LOCK: Final = RLock()  # the collector may run a destructor, and that an expression, while somebody holds it


class Item:
    """Something that is kept: when it was used last, and whether it has been let go of."""

    gone = False
    used = 0  # never, before a cache keeps it

    def size(self) -> int:
        """Its bytes now."""
        raise NotImplementedError

    def let_go(self) -> None:
        """Free what is large at once: an expression may still hold on to it."""


I = TypeVar("I", bound=Item)  # item
K = TypeVar("K", bound=Hashable)


class Cache(Generic[K, I]):
    """Items of one sort that one executor keeps: for each key the items of that key, those used last first.

    `alike` is how many there may be of one key.
    """

    def __init__(self, alike: int = 1) -> None:
        self._alike = alike
        self._items: dict[K, tuple[I, ...]] = {}
        with _LOCK:
            _CACHES.add(self)

    def of(self, key: K) -> tuple[I, ...]:
        """The items of a key; a tuple that stays as it is, whatever other threads do meanwhile."""
        return self._items.get(key, ())

    def items(self) -> list[I]:
        """All."""
        return [item for alike in [*self._items.values()] for item in alike]

    def use(self, key: K, item: I) -> None:
        """Note that an item of a key has been used."""
        item.used = clock()
        alike = self._items.get(key, ())
        if len(alike) > 1 and alike[0] is not item:
            with _LOCK:
                alike = self._items.get(key, ())
                if item in alike:
                    self._items[key] = (item, *(x for x in alike if x is not item))

    def keep(self, key: K, item: I) -> None:
        """Add an item; beyond the limit the least recently used ones of all caches go."""
        item.used = clock()
        with _LOCK:
            alike = (item, *self._items.get(key, ()))
            self._items[key] = alike[: self._alike]
            for x in alike[self._alike :]:
                _let_go(x)
        grown(item.size())

    def drop(self, key: K, item: I) -> None:
        """Let go of an item."""
        with _LOCK:
            alike = tuple(x for x in self._items.get(key, ()) if x is not item)
            if alike:
                self._items[key] = alike
            else:
                self._items.pop(key, None)
            _let_go(item)

    def entries(self) -> list[tuple[K, I]]:
        """All, each with its key."""
        return [(key, item) for key, alike in [*self._items.items()] for item in alike]


def _let_go(item: Item) -> None:
    item.gone = True
    item.let_go()


class _Budget:
    """Bytes for all caches; `held` is not less than what they hold, and exact after `trim`."""

    limit = 256 << 20
    held = 0

    def trim(self) -> None:
        """Count, and let go of what was used least recently until the rest fits."""
        found = [(item.used, item, key, cache) for cache in [*_CACHES] for key, item in cache.entries()]
        found.sort(key=itemgetter(0))
        sizes = [item.size() for _, item, _, _ in found]
        self.held = sum(sizes)
        if self.held <= self.limit:
            return
        for (_, item, key, cache), size in zip(found[:-1], sizes, strict=False):
            if self.held <= self.limit * _ROOM:
                break
            cache.drop(key, item)
            self.held -= size


_CACHES: Final[WeakSet[Cache[Any, Any]]] = WeakSet()  # Any: of every sort of keys and items
_BUDGET: Final = _Budget()


def grown(size: int) -> None:
    """Note that so many bytes more are kept."""
    with _LOCK:
        _BUDGET.held += size
        if _BUDGET.held > _BUDGET.limit:
            _BUDGET.trim()


def held() -> int:
    """The bytes that all caches hold."""
    with _LOCK:
        return sum(item.size() for cache in [*_CACHES] for item in cache.items())


def set_cache_limit(limit: int) -> int:
    """Let the programs and schedules of all executors keep at most so many bytes; gives the limit before.

    A structure that comes back often is run by a program, which keeps its buffers and its code, and `Batched` keeps
    its schedules: all of them together, in all executors of the process, keep at most 256 MB (`256 << 20`), unless
    this says otherwise. Beyond it those go first that have not been used for the longest time. What was used last
    stays, whatever its size. It is a bound on what lies between runs; what a run computes comes on top of it.
    Raises ArgumentError for anything but an `int` from 0 on.
    >>> from wengert import run
    >>> before = run.set_cache_limit(64 << 20)
    >>> before >> 20, run.set_cache_limit(before) >> 20
    (256, 64)
    """
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise ArgumentError(
            f"set_cache_limit takes a number of bytes, an int from 0 on; got {limit!r:.60}: write "
            f"set_cache_limit(256 << 20) for 256 MB\n  at {user_position()}"
        )
    with _LOCK:
        before, _BUDGET.limit = _BUDGET.limit, limit
        _BUDGET.trim()
    return before


class RunCounts:
    """Runs of the interpreter by structure, and how many make a program worth its while."""

    def __init__(self, worth: int) -> None:
        self._worth = worth
        self._counts: dict[object, tuple[int, int]] = {}  # runs, and how many are needed

    def earned(self, key: object) -> bool:
        """Count a run; whether it should be traced this time.

        Should the programs have to go for others, or be none, it takes twice as many runs until the next ones.
        """
        runs, needed = self._counts.get(key, (0, self._worth))
        earned = runs + 1 >= needed
        self._counts[key] = (0, 2 * needed) if earned else (runs + 1, needed)
        if len(self._counts) > _MOST_COUNTS:
            self._counts.pop(next(iter(self._counts)), None)
        return earned

    def soon(self, key: object) -> None:
        """Have the next run traced: this one could not tell."""
        self._counts[key] = self._worth - 1, self._worth
