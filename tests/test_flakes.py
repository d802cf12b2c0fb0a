"""No flake: tests that depend on threads, signals and memory, fifty times in random order, four at once."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = [
    "tests/control/test_leaks.py",
    "tests/control/test_start.py",
    "tests/run/test_concurrent.py",
    "tests/run/test_interrupts.py",
    "tests/run/test_plans_threads.py",
    "tests/run/test_pool.py",
    "tests/run/test_stress.py",
    "tests/saving/test_concurrent.py",
]
RUNS, AT_ONCE = 50, 4
FLAKY = "def test_luck(pytestconfig):\n    assert pytestconfig.getoption('randomly_seed') != 1\n"


def failures(files: list[str], runs: int) -> list[str]:
    """What the runs that fail say."""

    def said(seed: int) -> str:
        options = ["-q", "-n", "0", "-p", "no:cacheprovider", "--tb=short", f"--randomly-seed={seed}"]
        marks = ["-m", "sampled or not slow"]
        path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *marks, *files],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "PYTEST_ADDOPTS": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        return f"seed {seed}:\n{done.stdout}{done.stderr}" if done.returncode else ""

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [text for text in pool.map(said, range(runs)) if text]


@pytest.mark.nightly
def test_fifty_runs_in_random_order_all_pass() -> None:
    found = failures(FILES, RUNS)
    assert not found, f"{len(found)} of {RUNS} runs failed\n" + "\n".join(found)


@pytest.mark.slow
def test_a_flaky_test_is_found(tmp_path: Path) -> None:
    path = tmp_path / "test_luck.py"
    path.write_text(FLAKY)
    (found,) = failures([str(path)], 3)
    assert found.startswith("seed 1:") and "test_luck" in found
