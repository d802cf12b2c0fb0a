"""Drawn cases: a few of them in the fast ring, all of them where CI runs.

Knows: the mark of what the fast ring leaves out.
Refuses to know: any test.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def few(cases: Iterable[object], daily: int) -> list[object]:
    """All cases; those after the first `daily` are slow."""
    marks = pytest.mark.slow
    return [case if i < daily else pytest.param(case, marks=marks) for i, case in enumerate(cases)]
