"""Our own type cases take seconds, so the fast ring leaves them out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
collect_ignore = [
    "bugs",
    "right",
]  # programs without cases: tests/test_bugs.py judges these, tests/test_right.py those
if sys.version_info < (3, 12):
    collect_ignore.append("newer")  # its syntax is that of Python 3.12


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.slow)
