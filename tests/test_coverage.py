"""Every branch of the core is taken by a test; which modules the core is, `pyproject.toml` says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS = (
    "tests/control",
    "tests/drawing",
    "tests/errors",
    "tests/plugins",
    "tests/run",
    "tests/symbolic",
    "tests/testing",
    # An interrupt at any time comes while coverage holds its own lock, too, and nobody ever lets go of that.
    "--deselect=tests/run/test_interrupts.py::test_at_any_time",
)
BRANCH = "def f(x: int) -> int:\n    if x:\n        x += 1\n    return x\n"
ONE_WAY = "from toy import f\n\n\ndef test_f() -> None:\n    assert f(1) == 2\n"
BOTH_WAYS = ONE_WAY + "    assert f(0) == 0\n"


def uncovered(folder: Path, tests: Sequence[str], kept: Path, *only: str) -> str:
    """What no test takes, as a table, or what failed; nothing where the bar of `pyproject.toml` is reached."""
    path = os.pathsep.join([str(folder), str(folder / "src")])
    settings = {"COVERAGE_FILE": str(kept), "COVERAGE_RCFILE": str(ROOT / "pyproject.toml")}
    environment = {**os.environ, **settings, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    options = (
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "-m",
        "not nightly and not gpu",
    )

    def coverage(*command: str) -> subprocess.CompletedProcess[str]:
        program = (sys.executable, "-m", "coverage", *command)
        return subprocess.run(
            program, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )

    ran = coverage("run", *only, "-m", "pytest", *options, *tests)
    told = coverage("report", *only) if ran.returncode == 0 else ran
    return told.stdout + told.stderr if told.returncode else ""


@pytest.mark.nightly
def test_every_branch_of_the_core_is_taken(tmp_path: Path) -> None:
    missing = uncovered(ROOT, TESTS, tmp_path / "kept")
    assert not missing, missing


@pytest.mark.slow
def test_a_branch_that_no_test_takes_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n slow\n nightly\n gpu\n")
    (tmp_path / "toy.py").write_text(BRANCH)
    (tmp_path / "test_toy.py").write_text(ONE_WAY)
    assert "2->4" in uncovered(tmp_path, ["test_toy.py"], tmp_path / "one", "--include=toy.py", "--omit=")
    (tmp_path / "test_toy.py").write_text(BOTH_WAYS)
    assert uncovered(tmp_path, ["test_toy.py"], tmp_path / "both", "--include=toy.py", "--omit=") == ""
