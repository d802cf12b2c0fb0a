"""`python -m wengert profile`: the script's own output, arguments and exit status, and the table beside them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.profiling.programs import LINES, WEIGHT, written

pytestmark = pytest.mark.slow  # a process each


def profiled(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    written(folder)
    command = [sys.executable, "-m", "wengert", "profile", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def cells(table: str) -> dict[tuple[str, str], list[str]]:
    """The numbers of each row by operation and line."""
    rows = [line.split() for line in table.splitlines() if " program.py:" in line and "%" in line]
    found = {}
    for row in rows:
        at = next(i for i, word in enumerate(row) if word.startswith("program.py:"))
        found[" ".join(row[:at]), row[at]] = row[at + 1 :]
    return found


def test_a_script_gives_a_line_for_each_operation_with_its_counts(tmp_path: Path) -> None:
    done = profiled(tmp_path, "--trace", "trace.json", "program.py", "a", "--rows", "b")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "arguments ['a', '--rows', 'b'] __main__\n"
    found = cells(done.stderr)
    for operation, line in LINES.items():
        forward, _, backward, *_ = found[operation, f"program.py:{line}"]
        assert (forward, backward) == ("12", "12"), operation
    assert found["bind", "program.py:16"][0] == "12"
    assert found["update by SGD", f"program.py:{WEIGHT}"][0] == "12"
    assert {e["ph"] for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]} == set("MXbe")


@pytest.mark.parametrize(("how", "status"), [("fail", 1), ("exit", 7)])
def test_a_script_that_ends_otherwise_is_shown_and_keeps_its_status(
    tmp_path: Path, how: str, status: int
) -> None:
    done = profiled(tmp_path, "program.py", how)
    assert done.returncode == status
    assert cells(done.stderr)["tanh", "program.py:9"][0] == "12"
    assert ("ValueError: the script's own" in done.stderr) is (how == "fail")


def test_a_module_can_be_run_and_plans_can_be_left_on(tmp_path: Path) -> None:
    done = profiled(tmp_path, "--compiled", "-m", "program", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "arguments ['x'] __main__\n"
    assert "No structure had a plan" in done.stderr  # there is a bind in it


def test_programs_are_pages_before_the_table(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_text(path.read_text().replace(" - chosen(wg.sin(w))", ""))  # a bind, which no plan has
    command = [sys.executable, "-m", "wengert", "profile", "--program", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page, _, table = done.stderr.partition("\n\n")
    assert page.startswith("train at program.py:16: 10 runs of ")
    (tanh,) = [line for line in page.splitlines() if "tanh(" in line]
    assert tanh.split()[-2:] == ["tanh", "program.py:9"]
    assert "plan of train" in table
    assert "No structure came back" in profiled(tmp_path, "--program", "program.py").stderr


def test_what_cannot_be_done_is_said_before_the_script_runs(tmp_path: Path) -> None:
    done = profiled(tmp_path, "--trace", "nowhere/trace.json", "program.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot write nowhere/trace.json" in done.stderr
    done = profiled(tmp_path, "absent.py")
    assert done.returncode == 2
    assert "there is no file 'absent.py'" in done.stderr


def test_an_unknown_command_is_refused_with_those_that_there_are() -> None:
    done = subprocess.run([sys.executable, "-m", "wengert", "sing"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "no command 'sing'" in done.stderr
    assert "profile" in done.stderr
    done = subprocess.run([sys.executable, "-m", "wengert"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "profile" in done.stdout
