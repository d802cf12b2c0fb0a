"""The tests of how a run goes, once more with a parallel interpreter that divides every plan as the default."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SUITES = {
    "arrays": ["conformance_arrays", "conformance_scalars", "edges", "gated", "depth", "cell"],
    "promises": ["all_or_nothing", "once", "concurrent", "mutation", "leaks"],
    "types": ["own_types", "optimizers", "rules_for_types", "tapes", "pickle"],
}


def rerun(*arguments: str) -> subprocess.CompletedProcess[str]:
    """pytest in a process of its own, with that executor as the default."""
    options = ["-q", "-n", "0", "-p", "tests.run.divided", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    return subprocess.run(command, cwd=HERE.parent.parent, capture_output=True, text=True, timeout=600)


def files(*suites: str) -> list[str]:
    return [str(HERE / f"test_{name}.py") for suite in suites for name in SUITES[suite]]


@pytest.mark.slow
def test_with_parallel_as_the_default() -> None:
    ran = rerun("-m", "not slow", *files(*SUITES))
    assert ran.returncode == 0, ran.stdout[-4000:]


@pytest.mark.nightly  # with what is slow: graphs of a million nodes, thousands of runs
@pytest.mark.parametrize("suite", SUITES)
def test_all_of_it_with_parallel_as_the_default(suite: str) -> None:
    ran = rerun(*files(suite))
    assert ran.returncode == 0, ran.stdout[-4000:]


@pytest.mark.slow
def test_the_default_is_the_parallel_one(tmp_path: Path) -> None:
    file = tmp_path / "test_default.py"
    file.write_text(
        "from wengert.control import Run\n"
        "from wengert.run import Parallel, Sequential\n"
        "def test_parallel() -> None:\n"
        "    assert isinstance(Run().executor, Parallel)\n"
        "def test_sequential() -> None:\n"
        "    assert isinstance(Run().executor, Sequential)\n"
    )
    ran = rerun(str(file), "--rootdir", str(tmp_path))
    assert "1 failed, 1 passed" in ran.stdout, ran.stdout[-4000:]
