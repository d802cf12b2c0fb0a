"""The type cases of the plugin: one file a subject, each checked by one run of mypy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mypy_plugin.checking import CASES, case_problems

pytestmark = pytest.mark.slow
FILES = sorted(path.stem for path in CASES.glob("*.txt"))


@pytest.mark.parametrize("name", FILES)
def test_cases(name: str, tmp_path: Path) -> None:
    found = case_problems(tmp_path, name)
    assert not found, "\n".join(found)


def test_the_cases_need_the_plugin(tmp_path: Path) -> None:
    found = case_problems(tmp_path, "shapes", plugin=False)
    assert any("accepted, but must be refused" in problem for problem in found)
