"""The checker of tests: it finds what tests find, names what they do not, and refuses tests that fail anyway."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .areas import AREAS, ROOT, jobs_of
from .mutants import mutants, mutated

SOURCE = '''"""A module."""


def clipped(x: int, most: int = 3) -> int:
    """x, but not more than `most`."""
    if x > most and not x == -1:
        return most
    return x
'''
WEAK = "from toy import clipped\n\n\ndef test_clipped() -> None:\n    assert clipped(9) == 3\n"
STRONG = (
    WEAK + "    assert [clipped(x) for x in (-1, 2, 4)] == [-1, 2, 3]\n    assert clipped(-1, -2) == -1\n"
)
SCRIPT = """
from pathlib import Path
from tests.mutation.mutants import mutants, mutated
from tests.mutation.runs import Job, must_pass, score
path = Path("toy.py")
source = path.read_text()
jobs = [Job("toy", path, mutated(source, m), ("test_toy.py",), f"{m.line}: {m.change}") for m in mutants(source)]
must_pass([job.tests for job in jobs], 60)
result = score(jobs, 60, 2)
print(len(result.found), "found")
"""


def test_every_mutant_is_one_change_in_its_line() -> None:
    found = mutants(SOURCE)
    assert [(m.line, m.change) for m in found] == [
        (4, "3 to 4"),
        (6, "condition negated"),
        (6, "And to Or"),
        (6, "Gt to GtE"),
        (6, "without not"),
        (6, "Eq to NotEq"),
        (6, "without minus"),
        (6, "1 to 2"),
        (7, "returns None"),
        (8, "returns None"),
    ]
    texts = {ast.unparse(mutated(SOURCE, m)) for m in found}
    assert len(texts) == len(found) and ast.unparse(ast.parse(SOURCE)) not in texts


def test_what_nothing_can_notice_is_no_mutant() -> None:
    silent = "from typing import Protocol\nassert 1\n__all__ = ['x']\nx: list[1] = y\nraise E(f'{1 + 2}')\n"
    assert [m.change for m in mutants(silent)] == ["without the raise"]


@pytest.mark.slow
@pytest.mark.parametrize(("tests", "said"), [(STRONG, "survived: 6: Gt to GtE\n9 found"), (WEAK, "5 found")])
def test_tests_find_what_they_look_at(tests: str, said: str, tmp_path: Path) -> None:
    done = run(tests, tmp_path)
    assert said in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_tests_that_fail_anyway_find_nothing(tmp_path: Path) -> None:
    done = run(WEAK.replace("3", "4"), tmp_path)
    assert done.returncode and "without any mutant these tests fail: ['test_toy.py']" in done.stderr


def run(tests: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "toy.py").write_text(SOURCE)
    (folder / "test_toy.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n slow\n nightly\n gpu\n")
    path = os.pathsep.join([str(ROOT), str(ROOT / "src"), str(folder)])
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "PYTEST_ADDOPTS": "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "",
    }
    command = [sys.executable, "-c", SCRIPT]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("area", AREAS)
def test_every_area_has_mutants_and_tests(area: str) -> None:
    jobs = jobs_of(area, 5)
    assert jobs and all((ROOT / name).exists() for job in jobs for name in job.tests)
