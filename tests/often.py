"""Drawn cases: a few of them in the fast ring, more where CI runs, most of them at night.

Knows: the three rings: `-m "not slow"` is the fast one, no `-m` the daily one, `-m nightly` the nightly one.
Refuses to know: any test.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Final

import pytest
from hypothesis import settings

WHOLE: Final = 30  # examples of a law that names no number; a number that is named is a part of these
MOST: Final = 8  # cases of one function in the fast ring
LEAST: Final = 2  # the first example is the simplest one, and takes as long as any other
PROFILES: Final = {"fast": 8, "daily": 9, "whole": WHOLE, "nightly": 20 * WHOLE}


def ring_of(marks: str) -> str:
    """The profile for an expression of `-m`; `--hypothesis-profile` asks for another one."""
    if "not slow" in marks and "sampled" not in marks:
        return "fast"
    return "nightly" if "nightly" in marks and "not nightly" not in marks else "daily"


def drawn(item: pytest.Item) -> bool:
    """Whether Hypothesis draws the examples of a test."""
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


def left_out(cases: Sequence[pytest.Item]) -> Sequence[pytest.Item]:
    """The cases of one function that the fast ring leaves out: all but `MOST`, which lie evenly among them.

    Where they begin goes by the function's name, so that two laws of all operations take different ones.
    """
    count = len(cases)
    if count <= MOST:
        return ()
    ordered = sorted(cases, key=lambda case: case.nodeid)
    first = zlib.crc32(function_of(cases[0]).encode()) % count
    kept = {(first + i * count // MOST) % count for i in range(MOST)}
    return [case for i, case in enumerate(ordered) if i not in kept]


def function_of(item: pytest.Item) -> str:
    """The name that all cases of a test share."""
    return item.nodeid.partition("[")[0]


def examples(count: int, nightly: int | None = None) -> settings:
    """So many drawn examples, as the ring asks: a quarter fast, three tenths a day, twenty times as many at night."""
    share = settings.default.max_examples / WHOLE if settings.default else 1.0
    if nightly is not None and share >= PROFILES["nightly"] / WHOLE:
        return settings(max_examples=nightly)
    return settings(max_examples=max(LEAST, round(count * share)))


def few(cases: Iterable[object], daily: int, all_at_night: int | None = None) -> list[object]:
    """All cases; those after the first `daily` are slow, those after the first `all_at_night` nightly."""
    found: list[object] = []
    for i, case in enumerate(cases):
        at_night = all_at_night is not None and i >= all_at_night
        marks = pytest.mark.nightly if at_night else pytest.mark.slow
        found.append(case if i < daily else pytest.param(case, marks=marks))
    return found
