"""Our own type cases take seconds, so the fast ring leaves them out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
collect_ignore = [
    "block_bugs",
    "bugs",
    "right",
]  # programs without cases: tests/fold/test_mistakes.py, test_bugs.py and test_right.py judge these
if sys.version_info < (3, 12):
    collect_ignore.append("newer")  # its syntax is that of Python 3.12


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.slow)
