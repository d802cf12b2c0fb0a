"""The shipped runner of type cases, in every test of which it must fail or must not be fooled; and what our own
cases are: complete, and in the folder of the configuration that they need.

The cases themselves lie under `typecheck/` and are collected by the runner.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mypy_plugin.checking import WITHOUT_PLUGIN, advised_cache
from wengert.testing.collector import configuration
from wengert.testing.typecases import cases_in, check, outside, problems

ROOT = Path(__file__).resolve().parent.parent
OURS = ROOT / "typecheck"
PLAIN = OURS / "plain" / "mypy.ini"
ROWS = {f"T{n}" for n in range(1, 85)}
ELSEWHERE = {"T80"}  # states of a project, in tests/mypy_plugin/test_states.py
MISSING: set[str] = set()

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


CANARY = """
from typing import Literal, assert_type
from wengert.testing.plugin import plugin_active

def case_with() -> None:
    assert_type(plugin_active(), Literal[True])

def case_without() -> None:
    assert_type(plugin_active(), Literal[False])
"""


def verdict(folder: Path, text: str, *options: str) -> str:
    """What pytest prints for a project with one file of cases."""
    (folder / "typecheck").mkdir(exist_ok=True)
    (folder / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{WITHOUT_PLUGIN}")
    (folder / "typecheck" / "model.py").write_text(text)
    return pytest_in(folder, *options)


def pytest_in(folder: Path, *options: str) -> str:
    """What pytest prints there."""
    command = [sys.executable, "-m", "pytest", "-p", "wengert.testing.collector", "-p", "no:randomly", "-rA"]
    sources = os.pathsep.join([str(ROOT / "src"), str(ROOT / "stubs")])
    advised_cache(folder.parent, plugin=False, to=folder / ".mypy_cache")
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


def test_a_folder_with_a_configuration_of_its_own_is_checked_with_it(tmp_path: Path) -> None:
    plugged = tmp_path / "typecheck" / "plugged"
    (plugged / "deep").mkdir(parents=True)
    codes = "truthy-bool, unused-awaitable, ignore-without-code"  # the advised ones
    (plugged / "mypy.ini").write_text(
        f"[mypy]\nplugins = wengert_mypy\nenable_error_code = {codes}\ncache_dir = .cache_plugged\n"
    )
    advised_cache(tmp_path.parent, to=tmp_path / ".cache_plugged")
    (plugged / "deep" / "model.py").write_text(CANARY)
    said = verdict(tmp_path, CANARY)
    assert "PASSED typecheck/model.py::case_without" in said
    assert "FAILED typecheck/model.py::case_with " in said
    assert "PASSED typecheck/plugged/deep/model.py::case_with\n" in said
    assert "FAILED typecheck/plugged/deep/model.py::case_without" in said


def test_a_folder_whose_configuration_is_wrong_fails_alone(tmp_path: Path) -> None:
    plugged = tmp_path / "typecheck" / "plugged"
    plugged.mkdir(parents=True)
    (plugged / "mypy.ini").write_text("[mypy]\nplugins = no_such_plugin\n")
    (plugged / "other.py").write_text(CANARY)
    said = verdict(tmp_path, CANARY)
    assert "PASSED typecheck/model.py::case_without" in said
    assert "PASSED typecheck/plugged" not in said
    assert "mypy failed" in said


def test_a_configuration_above_the_folder_of_cases_is_the_projects(tmp_path: Path) -> None:
    (tmp_path / "mypy.ini").write_text("[mypy]\n")
    path = tmp_path / "typecheck" / "a" / "b.py"
    path.parent.mkdir(parents=True)
    assert configuration(path, tmp_path) is None
    for folder in (path.parent.parent, path.parent):  # the nearest one counts
        (folder / "mypy.ini").write_text("[mypy]\n")
        assert configuration(path, tmp_path) == folder / "mypy.ini"


AWAITABLE = """
from typing import assert_type
import wengert as wg

def case_type_of_a_do(x: wg.DoubleLayer) -> None:
    assert_type(x.train(), wg.Do[float])

def case_forgotten_run(x: wg.DoubleLayer) -> None:
    x.train()  # E[unused-awaitable]: must be used

def case_run(x: wg.DoubleLayer) -> None:
    x.train().run()  # E[unused-awaitable]
"""


def test_asking_for_the_type_of_a_do_is_no_forgotten_run(tmp_path: Path) -> None:
    said = verdict(tmp_path, AWAITABLE)  # the advised configuration enables the code
    assert "PASSED typecheck/model.py::case_type_of_a_do" in said
    assert "PASSED typecheck/model.py::case_forgotten_run" in said
    assert "FAILED typecheck/model.py::case_run" in said


def without_the_plugin(files: list[Path]) -> dict[Path, list[str]]:
    """What is wrong with files of cases, each under its file, where the plugin is off."""
    errors = check(files, ROOT, "--config-file", str(PLAIN))
    return {
        path: [
            *outside(path, errors),
            *(f"{case.name} {p}" for case in cases_in(path) for p in problems(case, errors)),
        ]
        for path in files
    }


def test_cases_that_need_no_plugin_hold_without_it() -> None:
    found = without_the_plugin([path for path in OURS.glob("*.py") if path.name != "conftest.py"])
    assert not any(found.values()), "\n".join(f"{p}:{line}" for p, lines in found.items() for line in lines)


def test_cases_of_the_plugin_need_it() -> None:
    found = without_the_plugin(list((OURS / "plugin").glob("*.py")))
    assert [path.name for path, lines in found.items() if not lines] == []


def test_every_row_of_the_design_has_a_case() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in OURS.rglob("*.py"))
    comments = re.findall(r"  # (T\d.*)", text)
    named = {row for comment in comments for row in re.findall(r"\bT\d+\b", comment)}
    assert ROWS - named - ELSEWHERE == MISSING
    assert named <= ROWS, "rows that nobody designed"
