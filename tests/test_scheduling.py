"""The order of files, and what one worker takes as a whole."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scheduling import FIRST, TYPES, rank, share_cores

ROOT = Path(__file__).resolve().parent.parent
TEST = "import pytest\n\n\n@pytest.mark.parametrize('x', range(6))\ndef test(x: int) -> None:\n    pass\n"
CONFTEST = """\
import os

from tests.scheduling import Plugin


def pytest_configure(config):
    config.pluginmanager.register(Plugin(backwards=os.environ.get("PYTEST_XDIST_WORKER") == "gw1"))
"""


def test_what_takes_long_comes_first() -> None:
    assert rank("typecheck/a.py::case") == 0
    assert rank("tests/mypy_plugin/test_states.py::test") < rank("tests/test_docs.py::test")
    assert rank("tests/run/test_cell.py::test") == len(FIRST)


def test_what_begins_first_is_there() -> None:
    assert [name for name in FIRST if not list(ROOT.glob(f"{name.rstrip('/')}*"))] == []


def test_a_worker_has_one_thread_of_blas_unless_somebody_says_otherwise() -> None:
    unset, chosen = dict[str, str](), {"OPENBLAS_NUM_THREADS": "4"}
    share_cores(unset)
    share_cores(chosen)
    assert (unset, chosen) == ({"OPENBLAS_NUM_THREADS": "1"}, {"OPENBLAS_NUM_THREADS": "4"})
    assert "PYTEST_XDIST_WORKER" not in os.environ or "OPENBLAS_NUM_THREADS" in os.environ


@pytest.mark.slow
def test_a_file_is_one_workers_and_so_are_the_type_cases(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "typecheck/d", "typecheck/e"):
        path = tmp_path / f"{name}/test_{name[-1]}.py"
        path.parent.mkdir(parents=True)
        path.write_text(TEST)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-n", "2", "-v", "-p", "no:cacheprovider", "-p", "no:randomly"]
    command += ["a", "b", "c", "typecheck"]  # one worker reads them backwards: both have to have one order
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    found: dict[str, set[str]] = {}
    for worker, path in re.findall(r"^\[(gw\d)\] .* PASSED (\S+)::", done.stdout, re.MULTILINE):
        found.setdefault(TYPES if path.startswith(TYPES) else path, set()).add(worker)
    assert len(found) == 4, done.stdout + done.stderr
    assert all(len(workers) == 1 for workers in found.values()), found
