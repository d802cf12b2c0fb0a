"""The checker of tests: it finds what tests find, names what they do not, and refuses tests that fail anyway."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from .areas import AREAS, ROOT, jobs_of
from .mutants import mutants, mutated
from .reach import Reach
from .runs import Score

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
import sys
from pathlib import Path
from tests.mutation.mutants import mutants
from tests.mutation.runs import Job, recorded, score
path = Path("toy.py").resolve()
source = path.read_text()
jobs = [Job(path, source, m, f"{m.line}: {m.change}") for m in mutants(source)]
reach = recorded(["test_toy.py"], [path])
for name in sys.argv[1:]:
    __import__(name)
result = score(jobs, reach, 2)
print(len(result.found), "found")
"""

ORDERS = """
from pathlib import Path
from tests.mutation.runs import recorded
path = Path("toy.py").resolve()
reach = recorded(["test_toy.py"], [path])
for line in (4, 6, 7, 8):
    print(line, *sorted(name.partition("::")[2] for name in reach.order(path, range(line, line + 1))))
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
    silent = "from typing import Protocol\nassert x + 1 is not None\n__all__ = ['x']\nx: list[1] = y\n"
    silent += "raise E(f'{1 + 2}')\nfor pair in zip(x, y, strict=True): pass\n"
    assert [m.change for m in mutants(silent)] == ["without the raise"]
    assert [m.change for m in mutants("assert x or y")] == ["without the assert", "Or to And"]


@pytest.mark.slow
@pytest.mark.parametrize(("tests", "said"), [(STRONG, "9 found"), (WEAK, "5 found")])
def test_tests_find_what_they_look_at(tests: str, said: str, tmp_path: Path) -> None:
    done = run(tests, tmp_path)
    assert said in done.stdout, done.stdout + done.stderr
    assert "6: Gt to GtE: survived" in done.stdout  # the same for every x
    assert "7: returns None: test_toy.py::test_clipped: failed" in done.stdout


@pytest.mark.slow
def test_tests_that_fail_anyway_find_nothing(tmp_path: Path) -> None:
    done = run(WEAK.replace("3", "4"), tmp_path)
    assert done.returncode and "without any mutant: test_toy.py::test_clipped: failed" in done.stderr


@pytest.mark.slow
def test_a_module_that_is_imported_already_is_refused(tmp_path: Path) -> None:
    done = run(STRONG, tmp_path, "toy")
    assert done.returncode and "toy: imported already" in done.stderr


@pytest.mark.parametrize(
    ("found", "of", "low", "high"), [(90, 100, 0.826, 0.945), (0, 10, 0.0, 0.278), (10, 10, 0.722, 1.0)]
)
def test_where_the_score_of_all_is_if_some_were_drawn(found: int, of: int, low: float, high: float) -> None:
    result = Score({str(i): "by" for i in range(found)}, [str(i) for i in range(of - found)])
    assert result.ratio == found / of
    assert result.interval == pytest.approx((low, high), abs=5e-4)


@pytest.mark.slow
def test_a_score_below_the_bar_fails_and_another_does_not(tmp_path: Path) -> None:
    kept = tmp_path / "delta.json"
    Reach().save(kept)  # no test gets anywhere
    command = [sys.executable, "-m", "tests.mutation", "delta", "--keep", str(tmp_path), "--bar"]
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([*command, "0.9"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "less than 90 % of the mutants are found: delta" in done.stderr
    assert "returns None (0): survived" in done.stdout
    subprocess.run([*command, "0.0"], env=environment, capture_output=True, check=True)


# A first look at programs found 3 of 6: what chooses buffers and stacks may cost time only. It may only rise.
BARS = {"program": 0.5}


@pytest.mark.nightly
@pytest.mark.parametrize("area", AREAS)
def test_nine_of_ten_mutants_are_found(area: str) -> None:
    """Or what the area's own bar says. Which are drawn, the date decides; a score that only chance put below passes."""
    seed = str(date.today().toordinal())
    bar = str(BARS.get(area, 0.9))
    command = [sys.executable, "-m", "tests.mutation", area, "--most", "150", "--seed", seed, "--bar", bar]
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"seed {seed}:\n{done.stdout}{done.stderr}"


def run(tests: str, folder: Path, *imported: str, script: str = SCRIPT) -> subprocess.CompletedProcess[str]:
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
    command = [sys.executable, "-c", script, *imported]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_tests_reach_what_they_execute(tmp_path: Path) -> None:
    tests = WEAK + "\n\ndef test_nothing() -> None:\n    pass\n\n\ndef test_low() -> None:\n    clipped(1)\n"
    done = run(tests, tmp_path, script=ORDERS)
    assert done.stdout.splitlines()[-4:] == [
        "4 test_clipped test_low test_nothing",  # what is executed on import, any test may notice
        "6 test_clipped test_low",
        "7 test_clipped",
        "8 test_low",
    ], done.stdout + done.stderr


@pytest.mark.parametrize("area", AREAS)
def test_every_area_has_mutants_and_tests(area: str) -> None:
    jobs = jobs_of(area, 5)
    assert jobs and all((ROOT / name).exists() for name in AREAS[area][1])
