"""What is worth going ahead with: nothing that has ended, time and again, before a thread could have helped.

Knows: that such an end proves that no part waited for another one, so that they can run in turn; that whether this is
so is a matter of the functions that run, so that a structure is known by these.
Refuses to know: how anything goes ahead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from types import CellType, ModuleType
from typing import Any, Final

from wengert.control import Do

_SURE: Final = 8  # runs in a row
_AGAIN: Final = 500  # runs until the question is asked again, as for the regions of a plan
_MOST: Final = 4096  # structures
_DEEP: Final = 4  # functions in functions that are looked at


class Habits:
    """What one interpreter has seen."""

    def __init__(self) -> None:
        # runs in a row that ended alone, negative: those to go in turn; and what has to live as long as its id counts
        self._alone: dict[tuple[int, ...], tuple[int, Sequence[object]]] = {}

    def ahead(self, of: Sequence[object]) -> bool:
        """Whether to go ahead this time."""
        key = tuple(map(id, of))
        count, _ = self._alone.get(key, (0, ()))
        if count < 0:
            self._alone[key] = (count + 1 if count < -1 else _SURE - 1, of)
        return count >= 0

    def learn(self, of: Sequence[object], alone: bool) -> None:
        """How it was."""
        key = tuple(map(id, of))
        count = self._alone.get(key, (0, ()))[0] + 1 if alone else 0
        if len(self._alone) >= _MOST:
            self._alone = {}
        self._alone[key] = (count if count < _SURE else -_AGAIN, of)


def made_of(sources: Iterable[object]) -> Sequence[object]:
    """What tells the functions behind `Do`s from others: their code, and that of the functions which they hold."""
    found: list[object] = []
    for source in sources:
        _look(source, found)
    return found


def _look(source: object, found: list[object]) -> None:
    while True:
        found.append(type(source))
        if not isinstance(source, Do):
            return
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


def _read(function: Any, found: list[object], deep: int) -> None:  # Any: whatever can be called
    held: Sequence[object] = ()
    code = getattr(function, "__code__", None)
    if code is not None:
        found.append(code)
        if function.__closure__:
            held = tuple(map(_content, function.__closure__))
    elif isinstance(function, partial):
        held = (function.func, *function.args)
    elif hasattr(function, "__func__"):
        held = (function.__func__,)
    else:
        owner = getattr(function, "__self__", None)  # of a method that is no function of Python's
        found.append(function if owner is None or isinstance(owner, ModuleType) else type(owner))
    for x in held if deep else ():
        if callable(x):
            _read(x, found, deep - 1)


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # nothing has been put into it yet
        return None
