"""Every branch of the core is taken by a test, which `pyproject.toml` names; of the faster ways, as many as were."""

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
    "tests/executors",
    "tests/plugins",
    "tests/program",
    "tests/run",
    "tests/symbolic",
    "tests/testing",
    # An interrupt at any time comes while coverage holds its own lock, too, and nobody ever lets go of that.
    "--deselect=tests/run/test_interrupts.py::test_at_any_time",
    "--hypothesis-profile=whole",  # twice what a day draws
)
BRANCH = "def f(x: int) -> int:\n    if x:\n        x += 1\n    return x\n"
ONE_WAY = "from toy import f\n\n\ndef test_f() -> None:\n    assert f(1) == 2\n"
BOTH_WAYS = ONE_WAY + "    assert f(0) == 0\n"


FAST = ("--include=src/wengert/run/*,src/wengert/program/*", "--omit=")
FLOOR = 83  # percent of lines and branches, which the table of programs takes by itself; it may only rise


def coverage(folder: Path, kept: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run coverage as `pyproject.toml` says; what it sees lies in `kept`."""
    path = os.pathsep.join([str(folder), str(folder / "src")])
    settings = {"COVERAGE_FILE": str(kept), "COVERAGE_RCFILE": str(ROOT / "pyproject.toml")}
    environment = {**os.environ, **settings, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    program = (sys.executable, "-m", "coverage", *command)
    return subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def traced(folder: Path, tests: Sequence[str], kept: Path, *only: str) -> None:
    """Run tests, with what they take of these modules; AssertionError where one fails."""
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
    ran = coverage(folder, kept, "run", *only, "-m", "pytest", *options, *tests)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def uncovered(folder: Path, kept: Path, *only: str) -> str:
    """What no test takes, as a table; nothing where the bar is reached."""
    told = coverage(folder, kept, "report", *only)
    return told.stdout + told.stderr if told.returncode else ""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the tests take of the library."""
    found = tmp_path_factory.mktemp("coverage") / "kept"
    traced(ROOT, TESTS, found, "--include=src/wengert/*", "--omit=")
    return found


@pytest.mark.nightly
def test_every_branch_of_the_core_is_taken(kept: Path) -> None:
    missing = uncovered(ROOT, kept)
    assert not missing, missing


@pytest.mark.nightly
def test_branches_of_programs_and_of_every_executor_are_taken(kept: Path) -> None:
    """Nothing is seen of text that is generated, which has no file; that it means what its program does, P2 says."""
    missing = uncovered(ROOT, kept, *FAST, f"--fail-under={FLOOR}")
    assert not missing, missing


@pytest.mark.slow
def test_a_branch_that_no_test_takes_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n slow\n nightly\n gpu\n")
    (tmp_path / "toy.py").write_text(BRANCH)
    (tmp_path / "test_toy.py").write_text(ONE_WAY)
    toy, kept = ("--include=toy.py", "--omit="), tmp_path / "kept"
    traced(tmp_path, ["test_toy.py"], kept, *toy)
    assert "2->4" in uncovered(tmp_path, kept, *toy)
    assert "2->4" in uncovered(tmp_path, kept, *toy, "--fail-under=84")  # five of six lines and branches
    assert uncovered(tmp_path, kept, *toy, "--fail-under=83") == ""
    (tmp_path / "test_toy.py").write_text(BOTH_WAYS)
    traced(tmp_path, ["test_toy.py"], kept, *toy)
    assert uncovered(tmp_path, kept, *toy) == ""


@pytest.mark.slow
def test_a_test_that_fails_covers_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n slow\n nightly\n gpu\n")
    (tmp_path / "toy.py").write_text(BRANCH)
    (tmp_path / "test_toy.py").write_text(ONE_WAY.replace("== 2", "== 3"))
    with pytest.raises(AssertionError, match="1 failed"):
        traced(tmp_path, ["test_toy.py"], tmp_path / "kept", "--include=toy.py", "--omit=")
