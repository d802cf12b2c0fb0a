"""The page of what the ancestor has: each test that a row names is there and runs by day, and each row names one.

Knows: the tables of the page.
Refuses to know: what any row says.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "ancestor.md"
ROW = re.compile(r"^\| D(\d+) \| (.+) \|$", re.MULTILINE)
LATER = re.compile(r"pytest\.mark\.(nightly|gpu|skip|skipif)\b")
SHOWN = re.compile(r"`((?:tests|typecheck|examples)/[\w/]+\.py)(?:::([\w:]+))?`")


@cache
def functions(path: Path) -> Mapping[str, bool]:
    """The names of the functions of a file, those of classes as `Class::name`; False for one that waits for a mark."""
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
    outer = [("", node) for node in tree.body]
    inner = [(f"{node.name}::", x) for _, node in outer if isinstance(node, ast.ClassDef) for x in node.body]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        name + node.name: not any(LATER.match(ast.unparse(mark)) for mark in node.decorator_list)
        for name, node in outer + inner
        if isinstance(node, kinds)
    }


def rows(page: str) -> dict[int, list[str]]:
    """The cells of each row after its code."""
    return {int(code): cells.split(" | ") for code, cells in ROW.findall(page)}


def faults(page: str) -> list[str]:
    """Rows that are short or come twice, and what they name and nobody has."""
    codes = [int(code) for code, _ in ROW.findall(page)]
    found = [f"D{code} comes twice" for code in set(codes) if codes.count(code) > 1]
    found += [f"D{code} is missing" for code in range(1, max(codes) + 1) if code not in codes]
    reasons = page.partition("## Otherwise, with a reason")[0]
    for code, cells in rows(reasons).items():
        shown = SHOWN.findall(cells[-1])
        if len(cells) < 3 or not shown:
            found.append(f"D{code} is shown by nothing")
        for file, name in shown:
            if name not in functions(ROOT / file):
                found.append(f"D{code}: there is no {file}::{name}")
            elif not functions(ROOT / file)[name]:
                found.append(f"D{code}: the daily suite leaves {file}::{name} out")
    found += [f"D{code} has no reason" for code, cells in rows(page).items() if len(cells[-1]) < 10]
    return found


def test_each_row_names_a_test_that_the_suite_runs() -> None:
    assert faults(PAGE.read_text(encoding="utf-8")) == []


@pytest.mark.nightly  # the suite runs the same tests; here nothing else has run before
@pytest.mark.parametrize("home", ["tests", "typecheck"])
def test_all_that_the_rows_name_passes(home: str) -> None:
    named = dict.fromkeys(f"{file}::{name}" for file, name in SHOWN.findall(PAGE.read_text(encoding="utf-8")))
    nodes = [node for node in named if node.startswith(f"{home}/")]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "", *nodes]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("::test_d1_a_tape_is_frozen", "::test_d1_a_tape_melts", "D1: there is no tests/run/test_tapes.py"),
        (
            "tests/run/test_tapes.py::TestTape::test_d1_a_tape_is_frozen",
            "tests/data/test_fuzz.py::test_a_million_hostile_files_are_read_or_refused",
            "D1: the daily suite leaves tests/data/test_fuzz.py",
        ),
        ("| D2 |", "| D1 |", "D1 comes twice"),
        ("| D2 |", "| X2 |", "D2 is missing"),
    ],
)
def test_a_row_that_is_wrong_is_found(before: str, after: str, fault: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert before in page
    assert any(found.startswith(fault) for found in faults(page.replace(before, after, 1)))


def test_a_row_that_nothing_shows_is_found() -> None:
    assert "D1 is shown by nothing" in faults("| D1 | A tape is frozen | paper | to be seen |")
