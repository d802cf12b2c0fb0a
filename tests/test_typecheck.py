"""The shipped runner of type cases, in every test of which it must fail or must not be fooled.

The cases themselves lie under `typecheck/` and are collected by it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.slow

CASES = """
import wengert as wg
{helper}

def case_accepted_but_marked() -> None:
    x: int = 1  # E[assignment]

def case_refused_but_not_marked() -> None:
    x: int = "one"

def case_refused_with_another_code() -> None:
    x: int = "one"  # E[arg-type]

def case_refused_with_another_text() -> None:
    x: int = "one"  # E[assignment]: incompatible with the moon

def case_right() -> None:
    x: int = "one"  # E[assignment]: Incompatible types
    y: int = "one"  # E
    z: wg.DoubleLayer = wg.lift(2.0) * 3.0
"""


def verdict(folder: Path, text: str, *options: str) -> str:
    """What pytest prints for a project with one file of cases."""
    (folder / "typecheck").mkdir()
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (folder / "typecheck" / "model.py").write_text(text)
    return pytest_in(folder, *options)


def pytest_in(folder: Path, *options: str) -> str:
    """What pytest prints there."""
    command = [sys.executable, "-m", "pytest", "-p", "wengert.testing.collector", "-p", "no:randomly", "-rA"]
    sources = os.pathsep.join([str(ROOT / "src"), str(ROOT / "stubs")])
    done = subprocess.run(
        [*command, "typecheck", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "MYPYPATH": sources},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_the_runner_fails_where_it_must(tmp_path: Path) -> None:
    said = verdict(tmp_path, CASES.format(helper=""))
    for case, why in {
        "case_accepted_but_marked": "accepted, but must be refused",
        "case_refused_but_not_marked": "unexpected [assignment]",
        "case_refused_with_another_code": "differs: got [assignment]",
        "case_refused_with_another_text": "differs: got [assignment]",
    }.items():
        assert f"FAILED typecheck/model.py::{case}" in said
        assert why in said
    assert "PASSED typecheck/model.py::case_right" in said
    assert "PASSED typecheck/model.py::outside the cases" in said


def test_nothing_passes_where_an_import_fails(tmp_path: Path) -> None:
    said = verdict(tmp_path, CASES.format(helper="import no_such_module"))
    assert "PASSED typecheck/model.py::case" not in said
    assert "mypy cannot see" in said


def test_an_error_outside_the_cases_fails(tmp_path: Path) -> None:
    said = verdict(tmp_path, CASES.format(helper="helper: int = 'one'"))
    assert "FAILED typecheck/model.py::outside the cases" in said


def test_a_file_without_cases_fails(tmp_path: Path) -> None:
    assert "a file without cases" in verdict(tmp_path, "x = 1\n")


def test_the_runner_says_when_mypy_itself_fails(tmp_path: Path) -> None:
    (tmp_path / "mypy.ini").write_text("[mypy]\nplugins = no_such_plugin\n")
    said = verdict(tmp_path, CASES.format(helper=""))
    assert "mypy failed" in said
    assert "PASSED" not in said
