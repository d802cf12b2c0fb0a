"""What is worth going ahead with: nothing that has ended, time and again, before a thread could have helped.

Knows: that such an end proves that no part waited for another one, so that they can run in turn; that whether this is
so is a matter of the functions that run, so that a structure is known by these.
Refuses to know: how anything goes ahead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from types import CellType, FunctionType, ModuleType
from typing import Any, Final

from wengert.control import Do
from wengert.control.do import FlatMap
from wengert.run.direct import _forward_of

_SURE: Final = 8  # runs in a row
_AGAIN: Final = 500  # runs until the question is asked again; twice as many each time the answer is the same
_SELDOM: Final = 8_000  # the most of them: to ask takes 0.2 ms, and 4 ms of the thread that looks
_MOST: Final = 4096  # structures
_DEEP: Final = 4  # functions in functions that are looked at


class _Seen:
    """What has been seen of one structure."""

    __slots__ = ("alone", "of", "pause", "turns")

    def __init__(self, of: Sequence[object]) -> None:
        self.of = of  # which has to live as long as its id counts
        self.alone = 0  # runs in a row that ended before help came
        self.turns = 0  # runs that are left to go in turn
        self.pause = _AGAIN  # how many such runs are next


class Habits:
    """What one interpreter has seen."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, ...], _Seen] = {}

    def ahead(self, of: Sequence[object]) -> bool:
        """Whether to go ahead this time."""
        seen = self._seen.get(tuple(map(id, of)))
        if seen is None or not seen.turns:
            return True
        seen.turns -= 1
        return False

    def learn(self, of: Sequence[object], alone: bool) -> None:
        """How it was."""
        key = tuple(map(id, of))
        seen = self._seen.get(key)
        if seen is None:
            if len(self._seen) >= _MOST:
                self._seen = {}
            seen = self._seen[key] = _Seen(of)
        if not alone:
            seen.alone, seen.turns, seen.pause = 0, 0, _AGAIN
            return
        seen.alone += 1
        if seen.alone >= _SURE:
            seen.turns, seen.pause = seen.pause, min(2 * seen.pause, _SELDOM)


def made_of(sources: Iterable[object]) -> Sequence[object]:
    """What tells the functions behind `Do`s from others: their code, and that of the functions which they hold."""
    found: list[object] = []
    for source in sources:
        # almost all come from `differentiable`: its function, and what that is called with, say everything
        if type(source) is FlatMap and type(source.then) is partial and source.then.func is _forward_of:
            made: Any = source.source  # Any: a coroutine of that function's
            _read(made.make, found, _DEEP)
        else:
            _look(source, found)
    return found


def _look(source: object, found: list[object]) -> None:
    while isinstance(source, Do):
        found.append(type(source))
        following = None
        for name in source.__slots__:
            part = getattr(source, name, None)
            if isinstance(part, Do):
                following = part
            elif callable(part):
                _read(part, found, _DEEP)
        if following is None:
            return
        source = following
    found.append(type(source))


def _read(function: Any, found: list[object], deep: int) -> None:  # Any: whatever can be called
    # the usual ones first, and nothing is built for them: this is done in every run
    held: Iterable[object] = ()
    if isinstance(function, partial):
        held = function.args
        if function.keywords:
            held = (*held, *function.keywords.values())
        function = function.func
    if type(function) is FunctionType:
        found.append(function.__code__)
        if function.__closure__ is not None:
            held = (*held, *map(_content, function.__closure__))
    elif isinstance(function, type):
        found.append(function)
    elif hasattr(function, "__func__"):
        held = (*held, function.__func__)
    else:
        owner = getattr(function, "__self__", None)  # of a method that is no function of Python's
        found.append(function if owner is None or isinstance(owner, ModuleType) else type(owner))
    if deep:
        for x in held:
            if callable(x):
                _read(x, found, deep - 1)


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # nothing has been put into it yet
        return None
